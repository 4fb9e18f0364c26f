/* Source lines of an assembly's methods by its PDB (sonde/lines.h). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "format/pe.h"
#include "sonde/lines.h"
#include "symbol/methods.h"
#include "symbol/pdb_file.h"

#define PDB_BUDGET   (512u << 20)
#define NAME_LIMIT   65536u
#define METHOD_TABLE 6u

struct sonde_pdb {
    struct sn_pdb_file file;
    struct sn_buf name;
};

static bool read_exactly(void *user, uint64_t offset, void *to, size_t size)
{
    const int *fd = user;
    return offset <= INT64_MAX && pread(*fd, to, size, (off_t)offset) == (ssize_t)size;
}

static int read_id(const char *path, struct sn_module *module, struct sonde_error *err)
{
    struct sn_pe_debug debug = {0};
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sn_fail_errno(err, "cannot open '%.200s'", path);
    int rc = sn_pe_read_debug(read_exactly, &fd, &debug, err);
    if (rc == SONDE_OK && !debug.has_pdb_id)
        rc = sn_fail(err, SONDE_E_FORMAT, 0, "'%.200s' was built without a PDB", path);
    memcpy(module->pdb_guid, debug.pdb_guid, sizeof(module->pdb_guid));
    return rc;
}

int sonde_pdb_open(const char *assembly, struct sonde_pdb **ret_pdb, struct sonde_error *err)
{
    SN_AUTO(sn_free) char *path = realpath(assembly, NULL);
    SN_AUTO(sn_free) struct sonde_pdb *pdb = calloc(1, sizeof(*pdb));
    struct sn_module module = {.path = path ? path : "", .name = "", .pdb_path = ""};
    size_t budget = PDB_BUDGET;
    if (!path)
        return sn_fail_errno(err, "cannot open '%.200s'", assembly);
    if (!pdb)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a PDB");
    int rc = read_id(path, &module, err);
    if (rc != SONDE_OK)
        return rc;
    if (!sn_pdb_file_open(&module, &budget, &pdb->file))
        return sn_fail(err, SONDE_E_FORMAT, 0,
                       "there is no PDB of '%.200s' beside or inside it that fits", assembly);
    pdb->name = sn_buf_with_limit(NAME_LIMIT);
    *ret_pdb = SN_TAKE(pdb);
    return SONDE_OK;
}

void sonde_pdb_free(struct sonde_pdb *pdb)
{
    if (!pdb)
        return;
    sn_pdb_file_close(&pdb->file);
    sn_buf_done(&pdb->name);
    free(pdb);
}

bool sonde_pdb_find(struct sonde_pdb *pdb, uint32_t token, uint32_t il_offset,
                    const char **ret_file, uint32_t *ret_line)
{
    struct sn_pdb_point point;
    if (token >> 24 != METHOD_TABLE ||
        !sn_pdb_find(&pdb->file.pdb, token & 0xffffffu, il_offset, &point) || !point.line)
        return false;
    sn_buf_clear(&pdb->name);
    if (!sn_pdb_document(&pdb->file.pdb, point.document, &pdb->name))
        return false;
    *ret_file = sn_buf_string(&pdb->name);
    *ret_line = point.line;
    return true;
}
