#include "symbol/pdb_file.h"

#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/own.h"
#include "format/pe.h"
#include "symbol/methods.h"
#include "symbol/object_file.h"

#define PATH_LIMIT 4096u

/* What is looked for, and how much may still be read for it. */
struct search {
    uint32_t pid; /* whose root paths are seen from; 0: ours */
    const struct sn_module *module;
    size_t *budget;
};

static bool ends_with(const char *path, const char *ending)
{
    size_t size = strlen(path);
    size_t tail = strlen(ending);
    return size > tail && strcasecmp(path + size - tail, ending) == 0;
}

static bool open_regular(const struct search *search, const char *path, struct sn_object_file *file)
{
    const struct sn_object_place place = {.pid = search->pid, .path = path};
    return sn_object_file_open(&place, file);
}

/* Appends `size` bytes at `offset`, fewer where the file was cut meanwhile. What is read in vain
 * counts as well: a trace can name one large file for every module. */
static bool append_file(const struct sn_object_file *file, uint64_t offset, uint64_t size,
                        size_t *budget, struct sn_buf *to)
{
    uint8_t *room = size <= *budget ? sn_buf_reserve(to, (size_t)size) : NULL;
    size_t have = room ? sn_object_file_read(file, offset, room, (size_t)size) : 0;
    sn_buf_grow(to, have);
    *budget -= have;
    return room != NULL;
}

static bool read_exactly(void *user, uint64_t offset, void *to, size_t size)
{
    return sn_object_file_read(user, offset, to, size) == size;
}

/* What was read is the PDB that is wanted. */
static bool settle(const uint8_t guid[16], struct sn_pdb_file *file)
{
    struct sonde_error err = {0};
    return sn_pdb_open(file->bytes.bytes, file->bytes.size, &file->pdb, &err) == SONDE_OK &&
           memcmp(file->pdb.guid, guid, sizeof(file->pdb.guid)) == 0;
}

static bool open_sidecar(const struct search *search, const char *path, struct sn_pdb_file *file)
{
    struct sn_object_file found = {.fd = -1};
    sn_buf_clear(&file->bytes);
    if (!ends_with(path, ".pdb") || !open_regular(search, path, &found))
        return false;
    bool is_read = append_file(&found, 0, found.size, search->budget, &file->bytes);
    sn_object_file_close(&found);
    return is_read && settle(search->module->pdb_guid, file);
}

/* "/app/Shop.dll" has "/app/Shop.pdb" beside it. */
static bool open_beside(const struct search *search, struct sn_pdb_file *file)
{
    SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(PATH_LIMIT);
    const char *dot = strrchr(search->module->path, '.');
    if (!dot || strchr(dot, '/'))
        return false;
    sn_buf_append(&path, search->module->path, (size_t)(dot - search->module->path));
    sn_buf_text(&path, ".pdb");
    return open_sidecar(search, sn_buf_string(&path), file);
}

static bool unpack(const struct sn_buf *packed, size_t *budget, struct sn_buf *to)
{
    struct sonde_error err = {0};
    sn_buf_clear(to);
    to->limit = *budget < SN_PDB_FILE_LIMIT ? *budget : SN_PDB_FILE_LIMIT;
    bool is_whole = sn_pe_unpack(packed->bytes, packed->size, to, &err) == SONDE_OK;
    *budget -= to->size;
    return is_whole;
}

/* The packed PDB within a .dll; false: it has none, or was built anew since. */
static bool append_packed(const struct search *search, struct sn_object_file *from,
                          struct sn_buf *to)
{
    struct sn_pe_debug debug = {0};
    struct sonde_error err = {0};
    const uint8_t *guid = search->module->pdb_guid;
    return sn_pe_read_debug(read_exactly, from, &debug, &err) == SONDE_OK && debug.has_pdb_id &&
           debug.embedded_size && debug.embedded_size <= from->size &&
           memcmp(debug.pdb_guid, guid, sizeof(debug.pdb_guid)) == 0 &&
           append_file(from, debug.embedded_offset, debug.embedded_size, search->budget, to);
}

static bool open_embedded(const struct search *search, struct sn_pdb_file *file)
{
    SN_AUTO(sn_buf_done) struct sn_buf packed = sn_buf_with_limit(SN_PDB_FILE_LIMIT);
    const char *path = search->module->path;
    struct sn_object_file found = {.fd = -1};
    if ((!ends_with(path, ".dll") && !ends_with(path, ".exe")) ||
        !open_regular(search, path, &found))
        return false;
    bool is_read = append_packed(search, &found, &packed);
    sn_object_file_close(&found);
    return is_read && unpack(&packed, search->budget, &file->bytes) &&
           settle(search->module->pdb_guid, file);
}

bool sn_pdb_file_open_in(uint32_t pid, const struct sn_module *module, size_t *budget,
                         struct sn_pdb_file *ret_file)
{
    static const uint8_t none[sizeof(module->pdb_guid)] = {0};
    const struct search search = {pid, module, budget};
    struct sn_pdb_file file = {.bytes = sn_buf_with_limit(SN_PDB_FILE_LIMIT)};
    if (!module->is_dynamic && memcmp(module->pdb_guid, none, sizeof(none)) != 0 &&
        (open_sidecar(&search, module->pdb_path, &file) || open_beside(&search, &file) ||
         open_embedded(&search, &file))) {
        *ret_file = file;
        return true;
    }
    sn_buf_done(&file.bytes);
    return false;
}

bool sn_pdb_file_open(const struct sn_module *module, size_t *budget, struct sn_pdb_file *ret_file)
{
    return sn_pdb_file_open_in(0, module, budget, ret_file);
}

bool sn_pdb_file_open_packed(const struct sn_buf *packed, const uint8_t guid[16], size_t *budget,
                             struct sn_pdb_file *ret_file)
{
    struct sn_pdb_file file = {.bytes = sn_buf_with_limit(SN_PDB_FILE_LIMIT)};
    if (unpack(packed, budget, &file.bytes) && settle(guid, &file)) {
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
