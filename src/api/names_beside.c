#include "api/names_beside.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/trace_names.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "model/trace_info.h"

static bool is_of_same_stream(const struct sn_trace_info *left, const struct sn_trace_info *right)
{
    return left && right && left->pid == right->pid &&
           sn_trace_time_ns(left, left->start_ticks) ==
               sn_trace_time_ns(right, right->start_ticks) &&
           left->start_utc_ns / SN_NS_PER_MS == right->start_utc_ns / SN_NS_PER_MS;
}

/* SONDE_OK: it is; SONDE_END: it is not, or nothing can be read of it. */
static int look_at_head(const char *beside, const struct sn_trace_info *info,
                        struct sonde_error *err)
{
    SN_AUTO(sn_walk_done) struct sn_walk look = {0};
    struct sonde_error why = {0};
    int rc = sn_walk_init(&look, beside, err);
    if (rc != SONDE_OK)
        return rc;
    if (sn_walk_run(&look, NULL, NULL, &why) != SONDE_OK)
        return why.status == SONDE_E_NOMEM ? sn_fail_as(err, &why) : SONDE_END;
    return is_of_same_stream(sn_walk_info(&look), info) ? SONDE_OK : SONDE_END;
}

int sn_names_beside_open(struct sn_names_beside *beside, const char *path,
                         const struct sn_trace_info *info, struct sonde_error *err)
{
    beside->path = sn_trace_names_path(path);
    if (!beside->path)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a path");
    if (access(beside->path, F_OK) != 0)
        return SONDE_END;
    int rc = look_at_head(beside->path, info, err);
    return rc == SONDE_OK ? sn_walk_init(&beside->walk, beside->path, err) : rc;
}

void sn_names_beside_close(struct sn_names_beside *beside)
{
    sn_walk_done(&beside->walk);
    free(beside->path);
    beside->path = NULL;
}

int sn_names_beside_run(struct sn_names_beside *beside, struct sonde_error *err)
{
    struct sonde_error why = {0};
    int rc = sn_walk_run(&beside->walk, NULL, NULL, &why);
    return rc == SONDE_E_NOMEM ? sn_fail_as(err, &why) : SONDE_OK;
}
