/* The kernel's numbers of one watched process: polled, and handed out as points. */
#include <math.h>

#include "api/watched.h"
#include "base/clock.h"
#include "base/err.h"
#include "source/proc/vitals.h"

static void take(struct sn_watched *watched, const struct sn_vital *vital,
                 const struct sn_vitals *now, uint64_t utc_ns)
{
    const struct sn_vitals *before = watched->has_before ? watched->before : NULL;
    struct sn_vital_value value;
    if (!sn_vital_measure(vital, before, now, &value))
        return;
    bool is_rate = vital->kind == SN_VITAL_RATE;
    bool is_moment = vital->kind == SN_VITAL_GAUGE || !before;
    struct sn_reading reading = {
        .origin = SONDE_POINT_KERNEL,
        .kind = is_rate ? SONDE_POINT_RATE : SONDE_POINT_GAUGE,
        .provider = vital->provider,
        .version = "",
        .name = vital->name,
        .display_name = "",
        .unit = vital->unit,
        .description = vital->description,
        .tag_text = vital->tag,
        .time_ns = now->time_ns,
        .utc_ns = utc_ns,
        .interval_ns = is_moment ? 0 : now->time_ns - before->time_ns,
        .value = value.value,
        .total = is_rate ? value.total : NAN,
        .is_absolute = is_rate,
        .sum = NAN,
        .min = NAN,
        .max = NAN,
        .deviation = NAN,
    };
    (void)sn_point_series_add(&watched->vital_series, &reading);
}

void sn_watched_poll(struct sn_watched *watched, uint64_t now_ns)
{
    struct sn_vitals now;
    size_t count = 0;
    const struct sn_vital *table = sn_vitals_table(&count);
    if (!watched->vitals || watched->ended_ns)
        return;
    int rc = sn_vitals_poll(watched->vitals, &now, NULL);
    if (rc != SONDE_OK) {
        if (rc == SONDE_E_GONE)
            watched->ended_ns = now_ns;
        return;
    }
    uint64_t utc_ns = sn_clock_utc_ns() - (sn_clock_monotonic_ns() - now.time_ns);
    for (size_t i = 0; i < count; i++)
        take(watched, &table[i], &now, utc_ns);
    *watched->before = now;
    watched->has_before = true;
    (void)sn_point_series_flush(&watched->vital_series, 0, watched->stage == SN_WATCHED_FIRST,
                                watched->common->take, watched->common->user);
}
