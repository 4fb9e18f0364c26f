#include "symbol/object_debug.h"

#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "format/elf.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define PATH_LIMIT 4096u
#define CRC_LIMIT  (256ull << 20)
#define CRC_BLOCK  16384u

enum { BY_BUILD_ID, BESIDE, BESIDE_HIDDEN, IN_DEBUG_ROOT, WAY_COUNT };

static size_t read_file(void *user, uint64_t offset, void *to, size_t size)
{
    return sn_object_file_read(user, offset, to, size);
}

static void path_by_build_id(const struct sn_elf *elf, struct sn_buf *path)
{
    if (elf->build_id_size < 2)
        return;
    sn_buf_format(path, DEBUG_ROOT "/.build-id/%02x/", (unsigned)elf->build_id[0]);
    for (uint32_t i = 1; i < elf->build_id_size; i++)
        sn_buf_format(path, "%02x", (unsigned)elf->build_id[i]);
    sn_buf_text(path, ".debug");
}

static void path_by_link(const char *own_path, const struct sn_elf *elf, int way,
                         struct sn_buf *path)
{
    const char *slash = strrchr(own_path, '/');
    if (!elf->debug_link[0] || !slash)
        return;
    if (way == IN_DEBUG_ROOT)
        sn_buf_text(path, DEBUG_ROOT);
    sn_buf_append(path, own_path, (size_t)(slash - own_path) + 1);
    if (way == BESIDE_HIDDEN)
        sn_buf_text(path, ".debug/");
    sn_buf_text(path, elf->debug_link);
}

/* What `path` names is an ELF file, another one, and made for this. */
static bool open_candidate(const struct sn_object_file *file, const struct sn_elf *elf,
                           const struct sn_object_place *place, struct sn_object_file *ret_debug,
                           struct sn_elf *ret_elf)
{
    struct sn_object_file debug = {.fd = -1};
    struct sonde_error err = {0};
    if (!sn_object_file_open(place, &debug))
        return false;
    const struct sn_read_at reader = {read_file, &debug};
    if (!sn_object_file_is_same(file, &debug) && sn_elf_read(&reader, ret_elf, &err) == SONDE_OK &&
        ret_elf->build_id_size == elf->build_id_size &&
        memcmp(ret_elf->build_id, elf->build_id, elf->build_id_size) == 0) {
        *ret_debug = debug;
        return true;
    }
    sn_object_file_close(&debug);
    return false;
}

bool sn_object_debug_find(const struct sn_object_file *file, const struct sn_elf *elf,
                          struct sn_arena *texts, struct sn_object_file *ret_debug,
                          struct sn_elf *ret_elf, bool *ret_needs_crc)
{
    struct sn_buf path = sn_buf_with_limit(PATH_LIMIT);
    const uint32_t roots[] = {file->place.pid, 0};
    bool is_found = false;
    for (size_t i = 0; i < (size_t)2 * WAY_COUNT && !is_found; i++) {
        int way = (int)(i / 2);
        sn_buf_clear(&path);
        if (way == BY_BUILD_ID)
            path_by_build_id(elf, &path);
        else
            path_by_link(file->place.path, elf, way, &path);
        const struct sn_object_place place = {.pid = roots[i % 2], .path = sn_buf_string(&path)};
        is_found =
            path.size && !path.failed && open_candidate(file, elf, &place, ret_debug, ret_elf);
    }
    if (is_found) {
        ret_debug->place.path = sn_arena_copy(texts, path.bytes, path.size);
        *ret_needs_crc = !elf->build_id_size;
    }
    sn_buf_done(&path);
    return is_found;
}

bool sn_object_debug_has_crc(const struct sn_object_file *debug, uint32_t crc)
{
    uint8_t block[CRC_BLOCK];
    uLong sum = crc32(0, NULL, 0);
    if (debug->size > CRC_LIMIT)
        return false;
    for (uint64_t at = 0; at < debug->size;) {
        size_t got = sn_object_file_read(debug, at, block, sizeof(block));
        if (!got)
            return false;
        sum = crc32(sum, block, (uInt)got);
        at += got;
    }
    return sum == crc;
}
