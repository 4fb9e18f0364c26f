/* Where blocks begin and end, in both versions, and how to find the next one after damage.
 *
 * Every step depends only on the stream's bytes, never on how they were cut when they were fed. */
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "format/nettrace_internal.h"

#define TAG_END_STREAM 0x01u
#define TAG_BEGIN      0x05u
#define TAG_END        0x06u

#define NAME_MAX_V4      64u
#define HEADER_V4        15u /* 05 05 01, two versions, length of the name */
#define TRACE_SIZE_V4    48u
#define HEADER_V6        4u
#define PEEK_V6          64u /* how much of a block is looked at to believe its header */
#define RESERVED_KIND_V6 16u /* kinds from here on are rather damage than news */

static const char magic[8] = {'N', 'e', 't', 't', 'r', 'a', 'c', 'e'};
static const char serializer[] = "!FastSerialization.1";
static const uint8_t begin_object[] = {TAG_BEGIN, TAG_BEGIN, 0x01};

static uint32_t u32_at(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

/* Asks for `size` bytes of the window. At the stream's end there will not be any more. */
static int want(struct sn_nettrace_reader *reader, size_t size)
{
    reader->need = size;
    return SONDE_OK;
}

static void begin_scan(struct sn_nettrace_reader *reader, uint64_t from, const char *why)
{
    reader->state = SN_NETTRACE_SCANNING;
    reader->scan_from = from;
    reader->scan_why = why;
}

/* The stream was cut inside something too short to use. */
static int take_cut(struct sn_nettrace_reader *reader, size_t size, size_t *ret_used)
{
    *ret_used = size;
    return sn_nettrace_damage(reader, reader->offset, size, "the stream ends in a block's header");
}

static int take_start(struct sn_nettrace_reader *reader, const uint8_t *window, size_t size,
                      size_t *ret_used)
{
    size_t wanted = size < 12 ? 12 : u32_at(window + 8) ? 32 : 20;
    size_t comparable = size < sizeof(magic) ? size : sizeof(magic);

    if (memcmp(window, magic, comparable) != 0)
        return sn_fail(reader->err, SONDE_E_FORMAT, 0, "not a nettrace stream");
    if (size < wanted)
        return reader->is_final ? sn_fail(reader->err, SONDE_E_TRUNCATED, size,
                                          "the stream ends in its first bytes")
                                : want(reader, wanted);
    if (wanted == 20 && u32_at(window + 12) != 6)
        return sn_fail(reader->err, SONDE_E_UNSUPPORTED, 12, "nettrace version %u",
                       u32_at(window + 12));
    if (wanted == 32 && (u32_at(window + 8) != 20 || memcmp(window + 12, serializer, 20) != 0))
        return sn_fail(reader->err, SONDE_E_FORMAT, 8, "not a nettrace stream");
    reader->info.format_version = wanted == 20 ? 6 : 4;
    reader->state = SN_NETTRACE_AT_BLOCK;
    *ret_used = wanted;
    return SONDE_OK;
}

static unsigned kind_of_name(const uint8_t *name, size_t size)
{
    static const struct {
        const char *name;
        uint8_t kind;
    } kinds[] = {
        {"EventBlock", SN_NETTRACE_EVENTS},
        {"StackBlock", SN_NETTRACE_STACKS},
        {"MetadataBlock", SN_NETTRACE_METADATA},
        {"SPBlock", SN_NETTRACE_SEQUENCE_POINT},
        {"Trace", SN_NETTRACE_TRACE},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strlen(kinds[i].name) == size && memcmp(kinds[i].name, name, size) == 0)
            return kinds[i].kind;
    }
    return SN_NETTRACE_UNKNOWN;
}

/* An object of version 4, as far as its header tells. */
struct object {
    unsigned kind;
    uint32_t version;
    size_t start; /* of its payload, from the window */
    size_t size;
};

/* Whether an object of a name we know begins here. SONDE_AGAIN: *ret_need bytes would tell. */
static int begins_object(const uint8_t *at, size_t size, size_t *ret_need)
{
    size_t comparable = size < sizeof(begin_object) ? size : sizeof(begin_object);
    if (memcmp(at, begin_object, comparable) != 0)
        return SONDE_END;
    if (size < HEADER_V4) {
        *ret_need = HEADER_V4;
        return SONDE_AGAIN;
    }
    uint32_t name_size = u32_at(at + 11);
    if (name_size > NAME_MAX_V4)
        return SONDE_END;
    if (size < HEADER_V4 + name_size + 1) {
        *ret_need = HEADER_V4 + name_size + 1;
        return SONDE_AGAIN;
    }
    bool is_known = kind_of_name(at + HEADER_V4, name_size) != SN_NETTRACE_UNKNOWN;
    return is_known && at[HEADER_V4 + name_size] == TAG_END ? SONDE_OK : SONDE_END;
}

/* Where the next object begins, from `from` on; `size` when nowhere. With *ret_need set, what is
 * found there is only the start of what may be one. */
static size_t scan_v4(const uint8_t *window, size_t size, size_t from, size_t *ret_need)
{
    *ret_need = 0;
    for (size_t at = from; at < size; at++) {
        const uint8_t *tag = memchr(window + at, TAG_BEGIN, size - at);
        if (!tag)
            return size;
        at = (size_t)(tag - window);
        if (begins_object(tag, size - at, ret_need) != SONDE_END)
            return at;
    }
    return size;
}

/* Reads the header of an object whose first byte is TAG_BEGIN. SONDE_AGAIN: reader->need. */
static int read_object(struct sn_nettrace_reader *reader, const uint8_t *window, size_t size,
                       struct object *ret_object)
{
    reader->need = HEADER_V4;
    if (size < reader->need)
        return SONDE_AGAIN;
    uint32_t name_size = u32_at(window + 11);
    if (memcmp(window, begin_object, sizeof(begin_object)) != 0 || name_size > NAME_MAX_V4)
        return SONDE_E_FORMAT;
    size_t at = HEADER_V4 + name_size;
    reader->need = at + 1 + 4;
    if (size < reader->need)
        return SONDE_AGAIN;
    if (window[at++] != TAG_END)
        return SONDE_E_FORMAT;

    ret_object->kind = kind_of_name(window + HEADER_V4, name_size);
    ret_object->version = u32_at(window + 3);
    ret_object->start = at;
    ret_object->size = TRACE_SIZE_V4;
    if (ret_object->kind != SN_NETTRACE_TRACE) {
        size_t padding = -(size_t)(reader->offset + at + 4) & 3u;
        ret_object->size = u32_at(window + at);
        ret_object->start = at + 4 + padding;
    }
    return SONDE_OK;
}

/* A block of version 4 whose size is not to be trusted, or that the stream's end cut: decodes up to
 * where the next one begins, if it can be seen. */
static int salvage_v4(struct sn_nettrace_reader *reader, const uint8_t *window, size_t size,
                      const struct object *object, size_t *ret_used)
{
    size_t need;
    size_t end = object->start + object->size;
    size_t next = scan_v4(window, size, object->start, &need);
    bool is_found = next < size && !need;
    size_t payload_end = is_found ? next - 1 : size < end ? size : end;

    *ret_used = reader->is_final && need ? size : next;
    if (!is_found && !reader->is_final)
        begin_scan(reader, reader->offset + payload_end, "no block begins where one should");
    int rc = sn_nettrace_damage(reader, reader->offset, 0,
                                is_found           ? "a block is shorter than it says"
                                : reader->is_final ? "the stream ends inside a block"
                                                   : "a block does not end where it should");
    if (rc != SONDE_OK || payload_end <= object->start)
        return rc;
    return sn_nettrace_block(reader, object->kind, window + object->start,
                             payload_end - object->start, reader->offset + object->start);
}

static int take_object(struct sn_nettrace_reader *reader, const uint8_t *window, size_t size,
                       size_t *ret_used)
{
    struct object object;
    int rc = window[0] == TAG_BEGIN ? read_object(reader, window, size, &object) : SONDE_E_FORMAT;

    if (window[0] == TAG_END_STREAM) {
        reader->state = SN_NETTRACE_AT_END;
        *ret_used = 1;
        return SONDE_OK;
    }
    if (rc == SONDE_AGAIN)
        return reader->is_final ? take_cut(reader, size, ret_used) : SONDE_OK;
    if (rc == SONDE_E_FORMAT) {
        begin_scan(reader, reader->offset, "no block begins where one should");
        *ret_used = 1;
        return SONDE_OK;
    }
    if (object.kind == SN_NETTRACE_TRACE && object.version < 4)
        return sn_fail(reader->err, SONDE_E_UNSUPPORTED, reader->offset, "nettrace version %u",
                       object.version);
    if (object.size > SN_NETTRACE_BLOCK_MAX) {
        begin_scan(reader, reader->offset, "a block is over the ceiling of 16 MB");
        *ret_used = object.start < size ? object.start : size;
        return SONDE_OK;
    }
    size_t total = object.start + object.size + 1;
    if (size < total && !reader->is_final)
        return want(reader, total);
    if (size < total || window[total - 1] != TAG_END)
        return salvage_v4(reader, window, size < total ? size : total, &object, ret_used);
    *ret_used = total;
    return sn_nettrace_block(reader, object.kind, window + object.start, object.size,
                             reader->offset + object.start);
}

static bool is_row_of_thread(struct sn_cursor *cur)
{
    uint16_t size = sn_cursor_u16(cur);
    uint64_t index = sn_cursor_varuint64(cur);
    uint8_t kind = size > 1 ? sn_cursor_u8(cur) : 1;
    return !cur->bad && size >= 1 && index < UINT32_MAX && kind >= 1 && kind <= 4;
}

static bool is_row_of_metadata(struct sn_cursor *cur)
{
    sn_cursor_skip(cur, sn_cursor_u16(cur));
    uint16_t size = sn_cursor_u16(cur);
    (void)sn_cursor_varuint32(cur); /* any id */
    uint32_t name_size = sn_cursor_varuint32(cur);
    uint8_t letter = sn_cursor_u8(cur);
    return !cur->bad && name_size && name_size < size && letter > ' ' && letter < 0x7F;
}

static bool is_stack(struct sn_cursor *cur, uint32_t size, uint32_t pointer_size)
{
    uint32_t first = sn_cursor_u32(cur);
    uint32_t count = sn_cursor_u32(cur);
    uint32_t bytes = sn_cursor_u32(cur);
    uint64_t address = sn_cursor_u64(cur); /* of user space: its upper 16 bits are zero */
    return !cur->bad && first && count && count <= size / 4 && bytes >= 8 && bytes <= size &&
           bytes % pointer_size == 0 && (pointer_size == 4 || (address && address >> 48 == 0));
}

static bool is_event_header(struct sn_cursor *cur)
{
    uint16_t header_size = sn_cursor_u16(cur);
    uint16_t flags = sn_cursor_u16(cur);
    uint64_t oldest = sn_cursor_u64(cur);
    uint64_t newest = sn_cursor_u64(cur);
    return !cur->bad && header_size == 20 && flags <= 1 && oldest <= newest && newest <= INT64_MAX;
}

static bool is_sequence_point(struct sn_cursor *cur, uint32_t size)
{
    uint64_t time = sn_cursor_u64(cur);
    uint32_t flags = sn_cursor_u32(cur);
    uint32_t count = sn_cursor_u32(cur);
    return !cur->bad && time <= INT64_MAX && flags <= 3 && size - 16 >= count * UINT64_C(2) &&
           size - 16 <= count * UINT64_C(15);
}

static bool is_label(struct sn_cursor *cur, uint32_t size)
{
    uint32_t first = sn_cursor_u32(cur);
    uint32_t count = sn_cursor_u32(cur);
    uint8_t kind = sn_cursor_u8(cur) & 0x7Fu;
    return !cur->bad && first && count && count <= size && kind >= 1 && kind <= 10;
}

/* Whether the bytes at `at` look like a block of version 6 rather than like something else. Judges
 * by the header and the first PEEK_V6 bytes behind it, of which `size` are there. */
static bool looks_like_block(const struct sn_nettrace_reader *reader, const uint8_t *at,
                             size_t size)
{
    uint32_t header = u32_at(at);
    uint32_t block_size = header & 0xFFFFFFu;
    size_t visible = size - HEADER_V6 < PEEK_V6 ? size - HEADER_V6 : PEEK_V6;
    struct sn_cursor cur =
        sn_cursor_over(at + HEADER_V6, visible < block_size ? visible : block_size);

    switch (header >> 24) {
    case SN_NETTRACE_EVENTS: return is_event_header(&cur);
    case SN_NETTRACE_METADATA: return is_row_of_metadata(&cur);
    case SN_NETTRACE_SEQUENCE_POINT: return is_sequence_point(&cur, block_size);
    case SN_NETTRACE_STACKS: return is_stack(&cur, block_size, reader->info.pointer_size);
    case SN_NETTRACE_THREADS: return is_row_of_thread(&cur);
    case SN_NETTRACE_LABELS: return is_label(&cur, block_size);
    default: return false;
    }
}

/* Where the next block seems to begin, from `from` on. When *ret_found is false, no block begins
 * before the place that is returned. */
static size_t scan_v6(const struct sn_nettrace_reader *reader, const uint8_t *window, size_t size,
                      size_t from, bool *ret_found)
{
    size_t shortest = reader->is_final ? HEADER_V6 : HEADER_V6 + PEEK_V6;
    size_t at = from;
    *ret_found = true;
    for (; at + shortest <= size; at++) {
        unsigned kind = window[at + 3];
        if (kind >= SN_NETTRACE_EVENTS && kind <= SN_NETTRACE_LABELS &&
            looks_like_block(reader, window + at, size - at))
            return at;
    }
    *ret_found = false;
    return reader->is_final ? size : at;
}

/* The stream ends inside a block, or its size is wrong. */
static int salvage_v6(struct sn_nettrace_reader *reader, const uint8_t *window, size_t size,
                      unsigned kind, size_t *ret_used)
{
    bool is_found;
    size_t next = scan_v6(reader, window, size, HEADER_V6, &is_found);
    int rc = sn_nettrace_damage(reader, reader->offset, 0,
                                is_found ? "a block is shorter than it says"
                                         : "the stream ends inside a block");
    *ret_used = next;
    if (rc != SONDE_OK)
        return rc;
    return sn_nettrace_block(reader, kind, window + HEADER_V6, next - HEADER_V6,
                             reader->offset + HEADER_V6);
}

static int take_block(struct sn_nettrace_reader *reader, const uint8_t *window, size_t size,
                      size_t *ret_used)
{
    if (size < HEADER_V6)
        return reader->is_final ? take_cut(reader, size, ret_used) : want(reader, HEADER_V6);
    uint32_t block_size = u32_at(window) & 0xFFFFFFu;
    unsigned kind = window[3];
    if (kind == SN_NETTRACE_END) {
        reader->state = SN_NETTRACE_AT_END;
        *ret_used = HEADER_V6;
        return SONDE_OK;
    }
    if (kind >= RESERVED_KIND_V6) {
        begin_scan(reader, reader->offset, "no block begins where one should");
        *ret_used = 1;
        return SONDE_OK;
    }
    size_t total = HEADER_V6 + block_size;
    if (size < total)
        return reader->is_final ? salvage_v6(reader, window, size, kind, ret_used)
                                : want(reader, total);
    *ret_used = total;
    return sn_nettrace_block(reader, kind, window + HEADER_V6, block_size,
                             reader->offset + HEADER_V6);
}

static int end_scan(struct sn_nettrace_reader *reader)
{
    reader->state = SN_NETTRACE_AT_BLOCK;
    return sn_nettrace_damage(reader, reader->scan_from, reader->offset - reader->scan_from, "%s",
                              reader->scan_why);
}

/* Passes over bytes up to where a block begins. */
static int take_damage(struct sn_nettrace_reader *reader, const uint8_t *window, size_t size,
                       size_t *ret_used)
{
    size_t need = 0;
    size_t at;
    bool is_found;
    if (reader->info.format_version == 4) {
        at = scan_v4(window, size, 0, &need);
        is_found = at < size && !need;
    } else {
        at = scan_v6(reader, window, size, 0, &is_found);
        need = HEADER_V6 + PEEK_V6;
    }
    if (at == 0 && is_found)
        return end_scan(reader);
    if (at == 0 && reader->is_final)
        at = 1;
    *ret_used = at;
    return at ? SONDE_OK : want(reader, need);
}

int sn_nettrace_take(struct sn_nettrace_reader *reader, const uint8_t *window, size_t size,
                     size_t *ret_used)
{
    bool is_v4 = reader->info.format_version == 4;
    int rc = SONDE_OK;

    *ret_used = 0;
    if (reader->state == SN_NETTRACE_SCANNING)
        rc = take_damage(reader, window, size, ret_used);
    if (rc != SONDE_OK || *ret_used || reader->state == SN_NETTRACE_SCANNING)
        return rc;
    switch (reader->state) {
    case SN_NETTRACE_AT_START: return take_start(reader, window, size, ret_used);
    case SN_NETTRACE_AT_END: *ret_used = size; return SONDE_OK;
    default: return (is_v4 ? take_object : take_block)(reader, window, size, ret_used);
    }
}
