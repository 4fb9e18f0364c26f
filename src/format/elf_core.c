/* Core files: program headers, then the notes. */
#include "format/elf_core.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"

#define SEGMENTS_MAX 262144u
#define THREADS_MAX  65536u
#define FILES_MAX    262144u
#define NOTES_MAX \
    (128u << 20) /* bytes of all: 1,000 threads have some 3 MB with all their registers */
#define PATHS_MAX (64u << 20)

#define STATUS_SIZE      336u /* struct elf_prstatus */
#define STATUS_SIGNAL    12u
#define STATUS_PID       32u
#define STATUS_REGISTERS 112u
#define INFO_PID         24u /* struct elf_prpsinfo */
#define INFO_NAME        40u

static bool read_all(const struct sn_read_at *file, uint64_t offset, void *to, size_t size)
{
    return file->read(file->user, offset, to, size) == size;
}

/* --- order --- */

/* What segments and files begin with. */
struct range {
    uint64_t start;
    uint64_t end;
};

static int by_start(const void *one, const void *other)
{
    uint64_t a = ((const struct range *)one)->start;
    uint64_t b = ((const struct range *)other)->start;
    return (a > b) - (a < b);
}

/* Sorted, and without what lies over another one; how many are left. */
static size_t put_in_order(void *items, size_t count, size_t size)
{
    uint8_t *bytes = items;
    size_t kept = 0;
    uint64_t end = 0;
    if (count)
        qsort(items, count, size, by_start);
    for (size_t i = 0; i < count; i++) {
        struct range range;
        memcpy(&range, bytes + i * size, sizeof(range));
        if (range.start < end)
            continue;
        end = range.end;
        memmove(bytes + kept++ * size, bytes + i * size, size);
    }
    return kept;
}

/* --- segments --- */

static void add_segment(struct sn_elf_core *core, const Elf64_Phdr *header)
{
    uint64_t end = header->p_vaddr + header->p_memsz;
    if (end <= header->p_vaddr)
        return;
    core->segments[core->segment_count++] = (struct sn_core_segment){
        .start = header->p_vaddr,
        .end = end,
        .offset = header->p_offset,
        .saved = header->p_filesz < header->p_memsz ? header->p_filesz : header->p_memsz,
        .flags = header->p_flags & (PF_R | PF_W | PF_X)};
}

/* --- notes --- */

static void take_status(struct sn_elf_core *core, const uint8_t *bytes, size_t size)
{
    struct sn_core_thread *threads;
    if (size < STATUS_SIZE || core->thread_count >= THREADS_MAX)
        return;
    threads =
        sn_array_room(core->threads, core->thread_count, &core->thread_capacity, sizeof(*threads));
    if (!threads)
        return;
    core->threads = threads;
    struct sn_core_thread *thread = &threads[core->thread_count++];
    uint16_t signal;
    memcpy(&signal, bytes + STATUS_SIGNAL, sizeof(signal));
    memcpy(&thread->tid, bytes + STATUS_PID, sizeof(thread->tid));
    memcpy(&thread->registers, bytes + STATUS_REGISTERS, sizeof(thread->registers));
    thread->signal = signal;
}

static void take_info(struct sn_elf_core *core, const uint8_t *bytes, size_t size)
{
    if (size < INFO_NAME + sizeof(core->name) - 1)
        return;
    memcpy(&core->pid, bytes + INFO_PID, sizeof(core->pid));
    memcpy(core->name, bytes + INFO_NAME, sizeof(core->name) - 1);
}

/* A count, a page size, three numbers a file, then their names one behind the other. */
static void take_files(struct sn_elf_core *core, const uint8_t *bytes, size_t size)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    uint64_t count = sn_cursor_u64(&cur);
    uint64_t unit = sn_cursor_u64(&cur);
    if (cur.bad || core->files || count > FILES_MAX || count > sn_cursor_left(&cur) / 24)
        return;
    core->files = calloc(count + 1, sizeof(*core->files));
    if (!core->files)
        return;
    struct sn_cursor names = cur;
    sn_cursor_skip(&names, count * 24);
    for (uint64_t i = 0; i < count; i++) {
        struct sn_core_file file = {.start = sn_cursor_u64(&cur), .end = sn_cursor_u64(&cur)};
        const char *name = (const char *)names.at;
        size_t left = sn_cursor_left(&names);
        size_t length = strnlen(name, left);
        file.offset = sn_cursor_u64(&cur) * unit;
        if (length == left)
            return;
        sn_cursor_skip(&names, length + 1);
        file.path = sn_arena_copy(&core->paths, name, length);
        if (file.path && file.end > file.start)
            core->files[core->file_count++] = file;
    }
}

static void take_note(struct sn_elf_core *core, uint32_t type, const uint8_t *bytes, size_t size)
{
    switch (type) {
    case NT_PRSTATUS: take_status(core, bytes, size); break;
    case NT_PRPSINFO: take_info(core, bytes, size); break;
    case NT_FILE: take_files(core, bytes, size); break;
    default: break;
    }
}

static size_t padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static void take_notes(struct sn_elf_core *core, const uint8_t *bytes, size_t size)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    while (sn_cursor_left(&cur) >= 12) {
        size_t name_size = sn_cursor_u32(&cur);
        size_t body_size = sn_cursor_u32(&cur);
        uint32_t type = sn_cursor_u32(&cur);
        const uint8_t *name = sn_cursor_bytes(&cur, padded(name_size));
        const uint8_t *body = sn_cursor_bytes(&cur, padded(body_size));
        if (!name || !body)
            return;
        if (name_size == 5 && memcmp(name, "CORE", 5) == 0)
            take_note(core, type, body, body_size);
    }
}

static int read_notes(const struct sn_read_at *file, const Elf64_Phdr *header, uint64_t *left,
                      struct sn_elf_core *core, struct sonde_error *err)
{
    if (header->p_filesz > *left)
        return sn_fail(err, SONDE_E_LIMIT, header->p_offset,
                       "the notes of the core file are too large");
    SN_AUTO(sn_free) uint8_t *bytes = malloc(header->p_filesz + 1);
    if (!bytes)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a core file");
    *left -= header->p_filesz;
    size_t got = file->read(file->user, header->p_offset, bytes, header->p_filesz);
    take_notes(core, bytes, got < header->p_filesz ? got : header->p_filesz);
    return SONDE_OK;
}

/* --- the whole --- */

/* More program headers than fit into 16 bits are counted in the first section header. */
static uint64_t header_count(const struct sn_read_at *file, const Elf64_Ehdr *header)
{
    Elf64_Shdr section;
    if (header->e_phnum != PN_XNUM)
        return header->e_phnum;
    return read_all(file, header->e_shoff, &section, sizeof(section)) ? section.sh_info : 0;
}

static bool is_core(const Elf64_Ehdr *header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
           header->e_type == ET_CORE && header->e_machine == EM_X86_64 &&
           header->e_phentsize == sizeof(Elf64_Phdr);
}

static int read_headers(const struct sn_read_at *file, const Elf64_Ehdr *header, uint64_t count,
                        struct sn_elf_core *core, struct sonde_error *err)
{
    uint64_t notes_left = NOTES_MAX;
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Phdr program;
        if (!read_all(file, header->e_phoff + i * sizeof(program), &program, sizeof(program)))
            return sn_fail(err, SONDE_E_TRUNCATED, header->e_phoff, "the core file is cut");
        int rc = SONDE_OK;
        if (program.p_type == PT_LOAD)
            add_segment(core, &program);
        else if (program.p_type == PT_NOTE)
            rc = read_notes(file, &program, &notes_left, core, err);
        if (rc != SONDE_OK)
            return rc;
    }
    core->segment_count =
        put_in_order(core->segments, core->segment_count, sizeof(*core->segments));
    core->file_count = put_in_order(core->files, core->file_count, sizeof(*core->files));
    return SONDE_OK;
}

int sn_elf_core_read(const struct sn_read_at *file, struct sn_elf_core *ret_core,
                     struct sonde_error *err)
{
    Elf64_Ehdr header;
    *ret_core = (struct sn_elf_core){.paths = sn_arena_with_limit(PATHS_MAX)};
    if (!read_all(file, 0, &header, sizeof(header)) || !is_core(&header))
        return sn_fail(err, SONDE_E_FORMAT, 0, "it is no core file of an x86-64 Linux process");
    uint64_t count = header_count(file, &header);
    if (count > SEGMENTS_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "the core file has more than %u segments",
                       SEGMENTS_MAX);
    ret_core->segments = calloc(count + 1, sizeof(*ret_core->segments));
    if (!ret_core->segments)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a core file");
    return read_headers(file, &header, count, ret_core, err);
}

void sn_elf_core_done(struct sn_elf_core *core)
{
    free(core->segments);
    free(core->files);
    free(core->threads);
    sn_arena_done(&core->paths);
    *core = (struct sn_elf_core){0};
}
