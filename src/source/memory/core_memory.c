/* Core files as a memory: saved pages first, then the files that were mapped. */
#include "source/memory/core_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/table.h"
#include "format/elf_core.h"
#include "format/elf_relative.h"
#include "source/memory/memory.h"
#include "source/memory/thread_state.h"

#define FILES_OPEN_MAX 512u
#define PROOF_SIZE     512u /* of a mapped file's first page, in the core file and now */

enum file_state { FILE_UNTRIED, FILE_OPEN, FILE_REFUSED };

struct mapped {
    const char *path; /* borrows from the core */
    uint64_t start;   /* where its first byte was mapped; 0: nowhere */
    struct sn_elf_relative relative;
    int fd;
    uint8_t state; /* enum file_state */
};

struct dead {
    struct sn_elf_core core;
    int fd;
    struct mapped *files; /* owns; one for each path */
    uint32_t *owners;     /* owns; of each of core.files, its number in `files` */
    size_t file_count;
    size_t open_count;
};

/* --- mapped files --- */

static const struct sn_core_segment *segment_of(const struct sn_elf_core *core, uint64_t address)
{
    size_t index =
        sn_array_first(core->segments, core->segment_count, sizeof(*core->segments), address + 1);
    const struct sn_core_segment *segment = index ? &core->segments[index - 1] : NULL;
    return segment && address < segment->end ? segment : NULL;
}

/* Whether the file begins as it did: an ELF header tells builds apart, and cores save it. */
static bool is_same(const struct dead *dead, const struct mapped *file, int fd)
{
    uint8_t then[PROOF_SIZE];
    uint8_t now[PROOF_SIZE];
    const struct sn_core_segment *segment =
        file->start ? segment_of(&dead->core, file->start) : NULL;
    if (!segment || file->start - segment->start + PROOF_SIZE > segment->saved)
        return true; /* nothing to compare with */
    uint64_t offset = segment->offset + (file->start - segment->start);
    return sn_file_read_from(dead->fd, offset, then, sizeof(then)) == sizeof(then) &&
           sn_file_read_from(fd, 0, now, sizeof(now)) == sizeof(now) &&
           memcmp(then, now, sizeof(then)) == 0;
}

static size_t read_open(void *user, uint64_t offset, void *to, size_t size)
{
    return sn_file_read_from(*(const int *)user, offset, to, size);
}

static int open_mapped(struct dead *dead, struct mapped *file)
{
    if (file->state != FILE_UNTRIED)
        return file->fd;
    file->state = FILE_REFUSED;
    file->fd = -1;
    if (dead->open_count >= FILES_OPEN_MAX)
        return -1;
    SN_AUTO(sn_close) int fd = sn_file_open_regular_at(AT_FDCWD, file->path);
    struct stat status;
    /* files of the kernel's have no size: to read one may do something */
    if (fd < 0 || fstat(fd, &status) != 0 || !status.st_size || !is_same(dead, file, fd))
        return -1;
    const struct sn_read_at reader = {read_open, &fd};
    (void)sn_elf_relative_find(&reader, &file->relative); /* or none */
    file->state = FILE_OPEN;
    file->fd = sn_take_fd(&fd);
    dead->open_count++;
    return file->fd;
}

static const struct sn_core_file *file_of(const struct sn_elf_core *core, uint64_t address)
{
    size_t index = sn_array_first(core->files, core->file_count, sizeof(*core->files), address + 1);
    const struct sn_core_file *file = index ? &core->files[index - 1] : NULL;
    return file && address < file->end ? file : NULL;
}

/* How many of `size` bytes came from the file that was mapped at `address`. */
static size_t read_mapped(struct dead *dead, uint64_t address, void *to, size_t size)
{
    const struct sn_core_file *file = file_of(&dead->core, address);
    if (!file)
        return 0;
    struct mapped *mapped = &dead->files[dead->owners[file - dead->core.files]];
    int fd = open_mapped(dead, mapped);
    if (fd < 0)
        return 0;
    size_t most = file->end - address < size ? (size_t)(file->end - address) : size;
    uint64_t offset = file->offset + (address - file->start);
    size_t got = sn_file_read_from(fd, offset, to, most);
    const struct sn_read_at reader = {read_open, &fd};
    if (mapped->start) /* small dumps leave out data that only the loader has changed */
        sn_elf_relative_apply(&reader, &mapped->relative, mapped->start, offset, to, got);
    return got;
}

/* --- reading --- */

/* One piece: from the core as far as it was saved there, else from the mapped file. */
static size_t read_piece(struct dead *dead, uint64_t address, void *to, size_t size)
{
    const struct sn_core_segment *segment = segment_of(&dead->core, address);
    if (!segment)
        return read_mapped(dead, address, to, size);
    uint64_t skip = address - segment->start;
    if (skip >= segment->saved) {
        size_t most = segment->end - address < size ? (size_t)(segment->end - address) : size;
        return read_mapped(dead, address, to, most);
    }
    size_t most = segment->saved - skip < size ? (size_t)(segment->saved - skip) : size;
    return sn_file_read_from(dead->fd, segment->offset + skip, to, most);
}

static size_t read_dead(void *user, uint64_t address, void *to, size_t size)
{
    uint8_t *bytes = to;
    size_t done = 0;
    while (done < size) {
        size_t got = read_piece(user, address + done, bytes + done, size - done);
        if (!got)
            break;
        done += got;
    }
    return done;
}

static void free_dead(void *user)
{
    struct dead *dead = user;
    for (size_t i = 0; i < dead->file_count; i++) {
        if (dead->files[i].state == FILE_OPEN)
            sn_close(dead->files[i].fd);
    }
    free(dead->files);
    free(dead->owners);
    sn_elf_core_done(&dead->core);
    sn_close(dead->fd);
    free(dead);
}

static void free_dead_auto(struct dead **slot)
{
    if (*slot)
        free_dead(*slot);
}

/* --- opening --- */

/* Pieces with the same path belong together. */
static bool find_owners(struct dead *dead)
{
    const struct sn_elf_core *core = &dead->core;
    struct sn_table by_path = sn_table_with_limit(core->file_count + 1);
    dead->files = calloc(core->file_count + 1, sizeof(*dead->files));
    dead->owners = calloc(core->file_count + 1, sizeof(*dead->owners));
    for (size_t i = 0; dead->files && dead->owners && i < core->file_count; i++) {
        const struct sn_core_file *piece = &core->files[i];
        uint64_t *slot = sn_table_put(&by_path, sn_table_key(piece->path, strlen(piece->path)));
        const char *known = slot && *slot ? dead->files[*slot - 1].path : NULL;
        bool is_known = known && strcmp(known, piece->path) == 0;
        size_t number = is_known ? (size_t)*slot - 1 : dead->file_count;
        struct mapped *owner = &dead->files[number];
        if (!is_known) {
            *owner = (struct mapped){.path = piece->path, .fd = -1};
            dead->file_count++;
        }
        if (slot && !*slot)
            *slot = number + 1;
        dead->owners[i] = (uint32_t)number;
        if (!piece->offset && !owner->start)
            owner->start = piece->start;
    }
    sn_table_done(&by_path);
    return dead->files && dead->owners;
}

static struct sn_memory_map map_of(const struct sn_elf_core *core,
                                   const struct sn_core_segment *segment)
{
    const struct sn_core_file *file = file_of(core, segment->start);
    return (struct sn_memory_map){
        .start = segment->start,
        .end = segment->end,
        .offset = file ? file->offset + (segment->start - file->start) : 0,
        .path = file ? file->path : "",
        .flags = (segment->flags & SN_CORE_READ ? (uint32_t)SN_MAP_READ : 0) |
                 (segment->flags & SN_CORE_WRITE ? (uint32_t)SN_MAP_WRITE : 0) |
                 (segment->flags & SN_CORE_CODE ? (uint32_t)SN_MAP_CODE : 0)};
}

static int by_start(const void *one, const void *other)
{
    uint64_t a = ((const struct sn_memory_map *)one)->start;
    uint64_t b = ((const struct sn_memory_map *)other)->start;
    return (a > b) - (a < b);
}

/* What of a mapped file no segment tells of: debuggers leave out what is in the file anyway. Code,
 * as far as is known. At most one more than the segments within it. */
static size_t add_gaps(const struct sn_elf_core *core, const struct sn_core_file *piece,
                       struct sn_memory_map *maps)
{
    size_t count = 0;
    for (uint64_t at = piece->start; at < piece->end;) {
        const struct sn_core_segment *segment = segment_of(core, at);
        size_t next = sn_array_first(core->segments, core->segment_count, sizeof(*segment), at + 1);
        uint64_t end = next < core->segment_count && core->segments[next].start < piece->end
                           ? core->segments[next].start
                           : piece->end;
        if (segment) {
            at = segment->end;
            continue;
        }
        maps[count++] = (struct sn_memory_map){.start = at,
                                               .end = end,
                                               .offset = piece->offset + (at - piece->start),
                                               .path = piece->path,
                                               .flags = SN_MAP_READ | SN_MAP_CODE};
        at = end;
    }
    return count;
}

static int make_memory(struct dead *dead, struct sn_memory **ret_memory, struct sonde_error *err)
{
    const struct sn_elf_core *core = &dead->core;
    size_t count = core->segment_count;
    SN_AUTO(sn_free)
    struct sn_memory_map *maps = calloc(2 * count + core->file_count + 1, sizeof(*maps));
    if (!maps) {
        free_dead(dead);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a core file");
    }
    for (size_t i = 0; i < count; i++)
        maps[i] = map_of(core, &core->segments[i]);
    for (size_t i = 0; i < core->file_count; i++)
        count += add_gaps(core, &core->files[i], maps + count);
    qsort(maps, count, sizeof(*maps), by_start);
    const struct sn_memory_source source = {read_dead, free_dead, dead};
    return sn_memory_of_source(&source, maps, count, ret_memory, err);
}

static int open_core(const char *path, int *ret_fd, struct sonde_error *err)
{
    struct stat status;
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*ret_fd < 0)
        return sn_fail_errno(err, "%.200s", path);
    if (fstat(*ret_fd, &status) != 0 || !S_ISREG(status.st_mode))
        return sn_fail(err, SONDE_E_FORMAT, 0, "%.200s is no file", path);
    return SONDE_OK;
}

int sn_core_memory_open(const char *path, struct sn_memory **ret_memory,
                        const struct sn_elf_core **ret_core, struct sonde_error *err)
{
    SN_AUTO(free_dead) struct dead *dead = calloc(1, sizeof(*dead));
    if (!dead)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a core file");
    dead->fd = -1;
    int rc = open_core(path, &dead->fd, err);
    const struct sn_read_at file = {read_open, &dead->fd};
    if (rc == SONDE_OK)
        rc = sn_elf_core_read(&file, &dead->core, err);
    if (rc != SONDE_OK)
        return rc;
    if (!find_owners(dead))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a core file");
    *ret_core = &dead->core;
    struct dead *taken = SN_TAKE(dead);
    return make_memory(taken, ret_memory, err);
}

/* --- threads --- */

void sn_core_memory_thread(struct sn_memory *memory, const struct sn_elf_core *core, size_t index,
                           struct sn_thread_state *ret_state)
{
    *ret_state = (struct sn_thread_state){.how = SN_THREAD_GONE, .syscall = -2};
    if (index >= core->thread_count)
        return;
    const struct sn_core_registers *from = &core->threads[index].registers;
    ret_state->how = SN_THREAD_STOPPED;
    ret_state->kernel_state = 'X';
    ret_state->registers =
        (struct sn_registers){.ip = from->rip, .sp = from->rsp, .bp = from->rbp, .has_bp = true};
    sn_thread_copy_stack(memory, ret_state);
}
