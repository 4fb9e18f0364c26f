#include "format/eh_frame.h"

#include <string.h>

#include "base/cursor.h"
#include "format/cfa_program.h"

#define CIE_MAX        256u  /* bytes; real ones have 20 to 40 */
#define FDE_MAX        8192u /* bytes; the largest seen has 2,100 */
#define TABLE_BLOCK    64u   /* entries that are read at once when the search has come so near */
#define ENTRY_SIZE     8u    /* of the table: start and FDE, both relative to the header */
#define HDR_PREFIX     12u   /* version, three encodings, pointer, count */
#define RETURN_ADDRESS 16u   /* the column, by the x86-64 ABI */

/* Pointer encodings: the low half says the size, the high half what it is relative to. */
enum {
    ENC_ABSPTR = 0x00,
    ENC_UDATA4 = 0x03,
    ENC_UDATA8 = 0x04,
    ENC_SDATA4 = 0x0b,
    ENC_SDATA8 = 0x0c,
    ENC_SIZE = 0x0f,
    ENC_PCREL = 0x10,
    ENC_DATAREL = 0x30,
    ENC_RELATIVE = 0x70,
    ENC_INDIRECT = 0x80,
    ENC_OMIT = 0xff,
};

/* What a CIE says of its FDEs. */
struct cie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint8_t pointer_encoding;
    bool has_augmentation; /* FDEs have a sized piece of their own before the program */
    bool is_signal;        /* the frame of a signal: its caller is not found by a return address */
    struct sn_cfa_code program;
};

/* A record as it lies in the file. */
struct record {
    uint64_t vaddr; /* of bytes[0] */
    size_t size;
    uint8_t *bytes;
};

struct fde {
    uint64_t start;
    uint64_t size;
    struct cie cie;
    struct sn_cfa_code program;
    uint8_t cie_bytes[CIE_MAX];
    uint8_t bytes[FDE_MAX];
};

struct source {
    const struct sn_read_at *file;
    const struct sn_eh_frame *frame;
};

static bool read_vaddr(const struct source *source, uint64_t vaddr, void *to, size_t size)
{
    uint64_t offset = vaddr - source->frame->vaddr_to_offset;
    return source->file->read(source->file->user, offset, to, size) == size;
}

static bool read_table(const struct source *source, uint64_t entry, void *to, uint64_t count)
{
    uint64_t offset = source->frame->hdr_offset + HDR_PREFIX + entry * ENTRY_SIZE;
    size_t size = (size_t)count * ENTRY_SIZE;
    return source->file->read(source->file->user, offset, to, size) == size;
}

static uint64_t relative(const struct source *source, const uint8_t *at)
{
    int32_t distance;
    memcpy(&distance, at, sizeof(distance));
    return source->frame->hdr_vaddr + (uint64_t)(int64_t)distance;
}

/* How many entries the table has; 0: none, or one of another kind. */
static uint64_t table_count(const struct source *source)
{
    uint8_t prefix[HDR_PREFIX];
    if (source->frame->hdr_size < sizeof(prefix) ||
        source->file->read(source->file->user, source->frame->hdr_offset, prefix, sizeof(prefix)) !=
            sizeof(prefix))
        return 0;
    struct sn_cursor cur = sn_cursor_over(prefix, sizeof(prefix));
    uint8_t version = sn_cursor_u8(&cur);
    uint8_t pointer_size = sn_cursor_u8(&cur) & ENC_SIZE;
    uint8_t count_encoding = sn_cursor_u8(&cur);
    uint8_t table_encoding = sn_cursor_u8(&cur);
    sn_cursor_skip(&cur, sizeof(uint32_t)); /* where .eh_frame begins: every entry says it too */
    uint32_t count = sn_cursor_u32(&cur);
    uint64_t room = (source->frame->hdr_size - HDR_PREFIX) / ENTRY_SIZE;
    if (version != 1 || (pointer_size != ENC_SDATA4 && pointer_size != ENC_UDATA4) ||
        count_encoding != ENC_UDATA4 || table_encoding != (ENC_DATAREL | ENC_SDATA4))
        return 0;
    return count < room ? count : room;
}

/* Narrows [*first, *first + *count) down to a block that holds the last entry at or below `vaddr`.
 */
static bool narrow(const struct source *source, uint64_t vaddr, uint64_t *first, uint64_t *count)
{
    while (*count > TABLE_BLOCK) {
        uint64_t half = *count / 2;
        uint8_t entry[ENTRY_SIZE];
        if (!read_table(source, *first + half, entry, 1))
            return false;
        if (relative(source, entry) <= vaddr) {
            *first += half;
            *count -= half;
        } else {
            *count = half;
        }
    }
    return *count > 0;
}

static bool find_in_table(const struct source *source, uint64_t vaddr, uint64_t *ret_fde)
{
    uint8_t block[TABLE_BLOCK * ENTRY_SIZE];
    uint64_t first = 0;
    uint64_t count = table_count(source);
    if (!narrow(source, vaddr, &first, &count) || !read_table(source, first, block, count))
        return false;
    while (count && relative(source, block + (count - 1) * ENTRY_SIZE) > vaddr)
        count--;
    if (!count)
        return false;
    *ret_fde = relative(source, block + (count - 1) * ENTRY_SIZE + sizeof(int32_t));
    return true;
}

/* The record at `vaddr`, without its length; `record->size` says how much there is room for. */
static bool read_record(const struct source *source, uint64_t vaddr, struct record *record)
{
    uint32_t size = 0;
    if (!read_vaddr(source, vaddr, &size, sizeof(size)) || size < sizeof(uint32_t) ||
        size > record->size) /* the mark of 64-bit lengths is among the last */
        return false;
    record->vaddr = vaddr + sizeof(size);
    record->size = size;
    return read_vaddr(source, record->vaddr, record->bytes, size);
}

static uint64_t read_value(struct sn_cursor *cur, uint8_t encoding)
{
    switch (encoding & ENC_SIZE) {
    case ENC_ABSPTR:
    case ENC_UDATA8:
    case ENC_SDATA8: return sn_cursor_u64(cur);
    case ENC_UDATA4: return sn_cursor_u32(cur);
    case ENC_SDATA4: return (uint64_t)(int64_t)sn_cursor_i32(cur);
    default: cur->bad = true; return 0;
    }
}

static uint64_t read_pointer(struct sn_cursor *cur, uint64_t record_vaddr, uint8_t encoding)
{
    uint64_t here = record_vaddr + sn_cursor_offset(cur);
    uint8_t base = encoding & ENC_RELATIVE;
    uint64_t value = read_value(cur, encoding);
    if ((encoding & ENC_INDIRECT) || (base && base != ENC_PCREL))
        cur->bad = true;
    return base == ENC_PCREL ? here + value : value;
}

static void take_augmentation(struct cie *cie, const char *letters, struct sn_cursor *cur)
{
    for (; *letters; letters++) {
        if (*letters == 'R') {
            cie->pointer_encoding = sn_cursor_u8(cur);
        } else if (*letters == 'L') {
            sn_cursor_skip(cur, 1);
        } else if (*letters == 'P') {
            uint8_t encoding = sn_cursor_u8(cur);
            if (encoding != ENC_OMIT)
                (void)read_value(cur, encoding);
        } else if (*letters == 'S') {
            cie->is_signal = true;
        } else {
            cur->bad = *letters != 'B'; /* which only arm64 has: no data */
        }
    }
}

/* The rest of a record as a program. */
static struct sn_cfa_code rest_of(const struct sn_cursor *cur)
{
    return (struct sn_cfa_code){cur->at, sn_cursor_left(cur)};
}

static bool parse_cie(const struct record *record, struct cie *cie)
{
    struct sn_cursor cur = sn_cursor_over(record->bytes, record->size);
    uint32_t id = sn_cursor_u32(&cur);
    uint8_t version = sn_cursor_u8(&cur);
    const char *letters = (const char *)cur.at;
    size_t length = strnlen(letters, sn_cursor_left(&cur));
    sn_cursor_skip(&cur, length + 1);
    *cie = (struct cie){.pointer_encoding = ENC_ABSPTR};
    cie->code_align = sn_cursor_varuint64(&cur);
    cie->data_align = sn_cursor_varint64(&cur);
    cie->return_register = version == 1 ? sn_cursor_u8(&cur) : sn_cursor_varuint64(&cur);
    if (cur.bad || id != 0 || (version != 1 && version != 3) ||
        cie->return_register != RETURN_ADDRESS)
        return false;
    if (letters[0] == 'z') {
        uint64_t size = sn_cursor_varuint64(&cur);
        const uint8_t *data = sn_cursor_bytes(&cur, (size_t)size);
        struct sn_cursor augmentation = sn_cursor_over(data, data ? (size_t)size : 0);
        take_augmentation(cie, letters + 1, &augmentation);
        cie->has_augmentation = true;
        cur.bad |= augmentation.bad;
    } else if (letters[0]) {
        return false; /* its parts cannot be told apart */
    }
    cie->program = rest_of(&cur);
    return !cur.bad;
}

static bool read_cie(const struct source *source, uint64_t vaddr, struct fde *fde)
{
    struct record record = {.bytes = fde->cie_bytes, .size = sizeof(fde->cie_bytes)};
    return read_record(source, vaddr, &record) && parse_cie(&record, &fde->cie);
}

/* The function that holds `vaddr`, by the table; false: none does. */
static bool find_fde(const struct source *source, uint64_t vaddr, struct fde *fde)
{
    uint64_t at = 0;
    struct record record = {.bytes = fde->bytes, .size = sizeof(fde->bytes)};
    if (!find_in_table(source, vaddr, &at) || !read_record(source, at, &record))
        return false;
    struct sn_cursor cur = sn_cursor_over(record.bytes, record.size);
    uint32_t to_cie = sn_cursor_u32(&cur);
    if (!to_cie || !read_cie(source, record.vaddr - to_cie, fde))
        return false;
    fde->start = read_pointer(&cur, record.vaddr, fde->cie.pointer_encoding);
    fde->size = read_value(&cur, fde->cie.pointer_encoding);
    if (fde->cie.has_augmentation)
        sn_cursor_skip(&cur, (size_t)sn_cursor_varuint64(&cur));
    fde->program = rest_of(&cur);
    return !cur.bad && vaddr - fde->start < fde->size && fde->start + fde->size > fde->start;
}

bool sn_eh_frame_bounds(const struct sn_read_at *file, const struct sn_eh_frame *frame,
                        uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_size)
{
    struct fde fde;
    const struct source source = {file, frame};
    if (!find_fde(&source, vaddr, &fde))
        return false;
    *ret_start = fde.start;
    *ret_size = fde.size;
    return true;
}

bool sn_eh_frame_row(const struct sn_read_at *file, const struct sn_eh_frame *frame, uint64_t vaddr,
                     struct sn_cfi_row *ret_row)
{
    struct fde fde;
    const struct source source = {file, frame};
    if (!find_fde(&source, vaddr, &fde) || fde.cie.is_signal)
        return false;
    const struct sn_cfa_program program = {
        .initial = fde.cie.program,
        .own = fde.program,
        .code_align = fde.cie.code_align,
        .data_align = fde.cie.data_align,
        .return_register = fde.cie.return_register,
        .start = fde.start,
    };
    struct sn_cfi_row row = {.start = fde.start, .size = fde.size};
    if (!sn_cfa_program_run(&program, vaddr, &row))
        return false;
    *ret_row = row;
    return true;
}
