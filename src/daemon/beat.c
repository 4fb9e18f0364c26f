#include "daemon/beat.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "daemon/roads.h"

struct sn_beat {
    struct sn_roads *roads;
    uint64_t interval_ns;
    void (*run)(void *user); /* NULL: it is over */
    void *user;
    bool is_inside; /* its run is under way, which may end it */
};

static void come(void *user)
{
    struct sn_beat *beat = user;
    /* First of all: then there is room for it. */
    (void)sn_roads_at(beat->roads, sn_clock_deadline(beat->interval_ns), come, beat, NULL);
    beat->is_inside = true;
    beat->run(beat->user);
    beat->is_inside = false;
    if (!beat->run)
        sn_beat_free(beat);
}

int sn_beat_new(struct sn_roads *roads, uint64_t interval_ns, void (*run)(void *user), void *user,
                struct sn_beat **ret_beat, struct sonde_error *err)
{
    struct sn_beat *beat = calloc(1, sizeof(*beat));
    if (!beat)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a timer");
    *beat = (struct sn_beat){.roads = roads, .interval_ns = interval_ns, .run = run, .user = user};
    int rc = sn_roads_at(roads, sn_clock_deadline(interval_ns), come, beat, err);
    if (rc != SONDE_OK) {
        free(beat);
        return rc;
    }
    *ret_beat = beat;
    return SONDE_OK;
}

void sn_beat_free(struct sn_beat *beat)
{
    if (!beat)
        return;
    beat->run = NULL;
    if (beat->is_inside)
        return;
    sn_roads_forget(beat->roads, beat);
    free(beat);
}
