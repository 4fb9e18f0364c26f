/* Journals whose recorder is gone: named as far as that is still possible, ended, packed. */
#include "api/record_names.h"
#include "base/clock.h"
#include "base/err.h"
#include "sink/archive/journal.h"
#include "sonde/record.h"
#include "symbol/objects.h"

static int name_all(struct sn_journal *journal, struct sn_objects *objects, struct sonde_error *err)
{
    struct sn_naming *naming = NULL;
    struct sn_naming_options options = {.journal = journal,
                                        .objects = objects,
                                        .is_foreign = true,
                                        .time_ns = sn_clock_monotonic_ns()};
    int rc = sn_naming_new(&options, &naming, err);
    while (rc == SONDE_OK || rc == SONDE_AGAIN) {
        rc = sn_naming_turn(naming, err);
        if (rc == SONDE_OK)
            break;
    }
    if (rc == SONDE_OK)
        rc = sn_journal_finish(journal, err);
    sn_journal_free(journal); /* before the kinds of events in it go */
    sn_naming_free(naming);
    return rc;
}

static int pack(const char *journal, const char *output, struct sonde_error *err)
{
    struct sn_packing *packing = NULL;
    uint64_t bytes = 0;
    int rc = sn_packing_new(journal, output, &packing, err);
    if (rc != SONDE_OK)
        return rc;
    do {
        rc = sn_packing_turn(packing, &bytes, err);
    } while (rc == SONDE_AGAIN);
    sn_packing_free(packing);
    return rc;
}

int sonde_journal_finish(const char *journal, const char *output, struct sonde_error *err)
{
    struct sn_journal *reopened = NULL;
    struct sn_objects *objects = NULL;
    int rc = sn_objects_new(&objects, err);
    if (rc == SONDE_OK)
        rc = sn_journal_reopen(journal, &reopened, err);
    if (rc == SONDE_OK)
        rc = name_all(reopened, objects, err);
    sn_objects_free(objects);
    return rc == SONDE_OK ? pack(journal, output, err) : rc;
}
