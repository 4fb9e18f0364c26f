#include "symbol/pdb_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "format/pe.h"
#include "symbol/methods.h"

#define PDB_LIMIT  (256u << 20) /* the largest that are known take some 30 MB */
#define PATH_LIMIT 4096u

static bool ends_with(const char *path, const char *ending)
{
    size_t size = strlen(path);
    size_t tail = strlen(ending);
    return size > tail && strcasecmp(path + size - tail, ending) == 0;
}

/* A regular file with something in it, or -1. A path that is not absolute would depend on where we
 * stand, and most of them are of another system: C:\... */
static int open_regular(const char *path, uint64_t *ret_size)
{
    struct stat status = {0};
    if (path[0] != '/')
        return -1;
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
        return -1;
    *ret_size = (uint64_t)status.st_size;
    return sn_take_fd(&fd);
}

/* Appends `size` bytes at `offset`, fewer where the file was cut meanwhile. What is read in vain
 * counts as well: a trace can name one large file for every module. */
static bool append_file(int fd, uint64_t offset, uint64_t size, size_t *budget, struct sn_buf *to)
{
    uint8_t *room = size <= *budget ? sn_buf_reserve(to, (size_t)size) : NULL;
    size_t have = 0;
    while (room && have < size) {
        ssize_t got = pread(fd, room + have, (size_t)size - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    sn_buf_grow(to, have);
    *budget -= have;
    return room != NULL;
}

static bool read_exactly(void *user, uint64_t offset, void *to, size_t size)
{
    const int *fd = user;
    return offset <= INT64_MAX && pread(*fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* What was read is the PDB that the module wants. */
static bool settle(const struct sn_module *module, struct sn_pdb_file *file)
{
    struct sonde_error err = {0};
    return sn_pdb_open(file->bytes.bytes, file->bytes.size, &file->pdb, &err) == SONDE_OK &&
           memcmp(file->pdb.guid, module->pdb_guid, sizeof(file->pdb.guid)) == 0;
}

static bool open_sidecar(const struct sn_module *module, const char *path, size_t *budget,
                         struct sn_pdb_file *file)
{
    uint64_t size = 0;
    SN_AUTO(sn_close) int fd = ends_with(path, ".pdb") ? open_regular(path, &size) : -1;
    sn_buf_clear(&file->bytes);
    return fd >= 0 && append_file(fd, 0, size, budget, &file->bytes) && settle(module, file);
}

/* "/app/Shop.dll" has "/app/Shop.pdb" beside it. */
static bool open_beside(const struct sn_module *module, size_t *budget, struct sn_pdb_file *file)
{
    SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(PATH_LIMIT);
    const char *dot = strrchr(module->path, '.');
    if (!dot || strchr(dot, '/'))
        return false;
    sn_buf_append(&path, module->path, (size_t)(dot - module->path));
    sn_buf_text(&path, ".pdb");
    return open_sidecar(module, sn_buf_string(&path), budget, file);
}

static bool unpack(const struct sn_buf *packed, size_t *budget, struct sn_buf *to)
{
    struct sonde_error err = {0};
    sn_buf_clear(to);
    to->limit = *budget < PDB_LIMIT ? *budget : PDB_LIMIT;
    bool is_whole = sn_pe_unpack(packed->bytes, packed->size, to, &err) == SONDE_OK;
    *budget -= to->size;
    return is_whole;
}

static bool open_embedded(const struct sn_module *module, size_t *budget, struct sn_pdb_file *file)
{
    bool is_assembly = ends_with(module->path, ".dll") || ends_with(module->path, ".exe");
    uint64_t size = 0;
    SN_AUTO(sn_close) int fd = is_assembly ? open_regular(module->path, &size) : -1;
    SN_AUTO(sn_buf_done) struct sn_buf packed = sn_buf_with_limit(PDB_LIMIT);
    struct sn_pe_debug debug = {0};
    struct sonde_error err = {0};
    if (fd < 0 || sn_pe_read_debug(read_exactly, &fd, &debug, &err) != SONDE_OK)
        return false;
    if (!debug.has_pdb_id || !debug.embedded_size || debug.embedded_size > size ||
        memcmp(debug.pdb_guid, module->pdb_guid, sizeof(debug.pdb_guid)) != 0)
        return false; /* has none, or was built anew since */
    return append_file(fd, debug.embedded_offset, debug.embedded_size, budget, &packed) &&
           unpack(&packed, budget, &file->bytes) && settle(module, file);
}

bool sn_pdb_file_open(const struct sn_module *module, size_t *budget, struct sn_pdb_file *ret_file)
{
    static const uint8_t none[sizeof(module->pdb_guid)] = {0};
    struct sn_pdb_file file = {.bytes = sn_buf_with_limit(PDB_LIMIT)};
    if (!module->is_dynamic && memcmp(module->pdb_guid, none, sizeof(none)) != 0 &&
        (open_sidecar(module, module->pdb_path, budget, &file) ||
         open_beside(module, budget, &file) || open_embedded(module, budget, &file))) {
        *ret_file = file;
        return true;
    }
    sn_buf_done(&file.bytes);
    return false;
}

void sn_pdb_file_close(struct sn_pdb_file *file)
{
    sn_buf_done(&file->bytes);
}
