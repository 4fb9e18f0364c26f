/* Prints what our readers find in the PDB of an assembly, side-car or embedded, in the words of
 * `traceevent lines`, so that the two can be compared with diff.
 *
 *   interop_lines ASSEMBLY */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/pdb.h"
#include "format/pe.h"
#include "symbol/methods.h"
#include "symbol/pdb_file.h"

#include <fcntl.h>

static bool read_bytes(void *user, uint64_t offset, void *to, size_t size)
{
    const struct sn_buf *file = user;
    if (offset > file->size || size > file->size - offset)
        return false;
    memcpy(to, file->bytes + offset, size);
    return true;
}

static void print_guid(const uint8_t guid[16])
{
    uint32_t first = 0;
    uint16_t middle[2] = {0};
    memcpy(&first, guid, 4);
    memcpy(middle, guid + 4, 4);
    (void)printf("guid %08" PRIx32 "-%04x-%04x-%02x%02x-", first, middle[0], middle[1], guid[8],
                 guid[9]);
    for (int i = 10; i < 16; i++)
        (void)printf("%02x", guid[i]);
    (void)putchar('\n');
}

static int print_points(const struct sn_pdb *pdb, uint32_t method)
{
    struct sn_pdb_points points = sn_pdb_points_of(pdb, method);
    struct sn_pdb_point point = {0};
    int rc;
    while ((rc = sn_pdb_points_next(&points, &point)) == SONDE_OK) {
        SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(4096);
        (void)printf("%" PRIu32 " %" PRIu32 " ", method, point.il_offset);
        if (!point.line)
            (void)puts("hidden");
        else if (sn_pdb_document(pdb, point.document, &name))
            (void)printf("%s:%" PRIu32 ":%" PRIu32 "\n", sn_buf_string(&name), point.line,
                         point.column);
        else
            (void)puts("no document");
    }
    return rc == SONDE_END ? 0 : 1;
}

int main(int argc, char **argv)
{
    SN_AUTO(sn_buf_done) struct sn_buf file = sn_buf_with_limit(256u << 20);
    struct sn_pe_debug debug = {0};
    struct sonde_error err = {0};
    if (argc != 2 || sn_file_read_at(AT_FDCWD, argv[1], &file, &err) != SONDE_OK ||
        sn_pe_read_debug(read_bytes, &file, &debug, &err) != SONDE_OK) {
        (void)fprintf(stderr, "interop_lines: %s\n", err.text);
        return 2;
    }
    struct sn_module module = {.path = argv[1], .name = "", .pdb_path = ""};
    memcpy(module.pdb_guid, debug.pdb_guid, sizeof(module.pdb_guid));
    struct sn_pdb_file found = {0};
    size_t budget = SIZE_MAX;
    if (!sn_pdb_file_open(&module, &budget, &found)) {
        (void)fprintf(stderr, "interop_lines: no PDB for %s\n", argv[1]);
        return 1;
    }
    int failed = 0;
    print_guid(found.pdb.guid);
    for (uint32_t method = 1; method <= found.pdb.methods.row_count; method++) {
        failed |= print_points(&found.pdb, method);
        for (uint32_t other = 1; other <= found.pdb.methods.row_count; other++) {
            if (found.pdb.machines.row_count && sn_pdb_machine_of(&found.pdb, other) == method)
                (void)printf("%" PRIu32 " starts %" PRIu32 "\n", other, method);
        }
    }
    sn_pdb_file_close(&found);
    return failed;
}
