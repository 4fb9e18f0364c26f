#include "cli/counters_source.h"

#include <stdlib.h>

#include "base/err.h"
#include "sonde/hub.h"

struct own {
    struct sn_counters_source base;
    struct sonde_hub *hub;
    struct sonde_counters *counters;
};

static const struct own *as_own(const struct sn_counters_source *source)
{
    return (const struct own *)source;
}

static int own_fd(const struct sn_counters_source *source)
{
    return sonde_hub_fd(as_own(source)->hub);
}

static int own_wait_ms(const struct sn_counters_source *source)
{
    return sonde_hub_wait_ms(as_own(source)->hub);
}

static int own_turn(struct sn_counters_source *source, struct sonde_error *err)
{
    return sonde_hub_turn(as_own(source)->hub, err);
}

static size_t own_process_count(const struct sn_counters_source *source)
{
    return sonde_counters_process_count(as_own(source)->counters);
}

static void own_process(const struct sn_counters_source *source, size_t index,
                        struct sonde_watched *ret_watched)
{
    sonde_counters_process(as_own(source)->counters, index, ret_watched);
}

static bool own_find(const struct sn_counters_source *source, uint32_t pid,
                     struct sonde_watched *ret_watched)
{
    return sonde_counters_find(as_own(source)->counters, pid, ret_watched);
}

static int own_latest(struct sn_counters_source *source, uint32_t pid,
                      const struct sonde_point **ret_points, size_t *ret_count,
                      struct sonde_error *err)
{
    return sonde_counters_latest(as_own(source)->counters, pid, ret_points, ret_count, err);
}

static void own_free(struct sn_counters_source *source)
{
    struct own *own = (struct own *)source;
    sonde_counters_free(own->counters);
    sonde_hub_free(own->hub);
    free(own);
}

static const struct sn_counters_source_ops own_ops = {
    .fd = own_fd,
    .wait_ms = own_wait_ms,
    .turn = own_turn,
    .process_count = own_process_count,
    .process = own_process,
    .find = own_find,
    .latest = own_latest,
    .free = own_free,
};

int sn_counters_source_own(const struct sonde_counters_options *options, sonde_point_fn *take,
                           void *user, struct sn_counters_source **ret_source,
                           struct sonde_error *err)
{
    static const struct sonde_hub_options hub_options = {.size = sizeof(hub_options)};
    struct own *own = calloc(1, sizeof(*own));
    if (!own)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for counters");
    own->base.ops = &own_ops;
    int rc = sonde_hub_new(&hub_options, &own->hub, err);
    if (rc == SONDE_OK)
        rc = sonde_counters_new(own->hub, options, take, user, &own->counters, err);
    if (rc != SONDE_OK) {
        own_free(&own->base);
        return rc;
    }
    *ret_source = &own->base;
    return SONDE_OK;
}
