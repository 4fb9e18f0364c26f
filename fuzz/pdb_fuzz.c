/* Any bytes as a PDB: every walk ends, IL offsets rise, a line that is found is one of the method's
 * points, and the lines and names of a method do not take long. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cpu_limit.h"
#include "format/pdb.h"

#define METHOD_MAX 64u
#define LIMIT_MS   2000u /* for a method */

static void walk(const struct sn_pdb *pdb, uint32_t method, size_t size)
{
    struct sn_pdb_points points = sn_pdb_points_of(pdb, method);
    struct sn_pdb_point point = {0};
    uint32_t last = 0;
    size_t count = 0;
    uint64_t began_ms = cpu_now_ms();
    while (sn_pdb_points_next(&points, &point) == SONDE_OK) {
        SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(512);
        if (point.il_offset < last || count++ > size)
            abort();
        last = point.il_offset;
        if (sn_pdb_document(pdb, point.document, &name) && !name.size)
            abort();
    }
    struct sn_pdb_point found = {0};
    if (sn_pdb_find(pdb, method, last, &found) && (!found.line || !count))
        abort();
    (void)sn_pdb_machine_of(pdb, method); /* any answer will do */
    for (uint32_t i = 0; i < 4; i++)
        (void)sn_pdb_await(pdb, method, i, &last);
    cpu_limit_check(began_ms, LIMIT_MS, "a method");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_pdb pdb = {0};
    struct sonde_error err = {0};
    if (sn_pdb_open(data, size, &pdb, &err) != SONDE_OK) {
        if (!err.text[0])
            abort();
        return 0;
    }
    for (uint32_t method = 0; method < METHOD_MAX; method++)
        walk(&pdb, method, size);
    return 0;
}
