/* In which steps a runtime is asked for counters and metrics, so that it does not lock itself up.
 *
 * A runtime carries out what a session asks for while it holds the lock of all its event sources,
 * and it creates event sources in static constructors, which take that lock. A thread that is in
 * such a constructor waits for the lock; the holder of the lock that needs the same class waits for
 * the constructor; neither ever goes on (docs/adr/0035-counters-before-metrics.md has the cases).
 *
 *   cold --value of a counter--> polled --SETTLED_NS--> warm     counters only -> metrics as well
 *     '-- no value for NO_VALUE_NS, and nothing polls --^
 *
 *   metrics --first event--> begun --first CollectionStop--> collected
 *                              '-- around its first collection it is not stopped
 */
#include <string.h>
#include <strings.h>

#include "api/counter_poller.h"
#include "api/hub_arguments.h"
#include "api/hub_parts.h"
#include "base/clock.h"
#include "flow/source.h"
#include "model/schema.h"
#include "sonde/counters.h"
#include "sonde/provider.h"

/* From the first value of a counter until the thread that writes them has written them all. */
#define SETTLED_NS (50ull * SN_NS_PER_MS)

/* Counters of which no value comes have no thread that writes them; where such a thread is at work,
 * its first value is waited for, within reason. */
#define NO_VALUE_NS      (3ull * SN_NS_PER_SECOND)
#define NO_VALUE_MOST_NS (30ull * SN_NS_PER_SECOND)

/* Before and behind the moment when the first collection is due. */
#define COLLECTION_BEFORE_NS (400ull * SN_NS_PER_MS)
#define COLLECTION_BEHIND_NS (1000ull * SN_NS_PER_MS)

/* Between two looks. */
#define STEP_NS (50ull * SN_NS_PER_MS)

#define COLLECTION_STOP 3u
#define COUNTERS        "System.Runtime"
#define QUICK_INTERVAL  SN_INTERVAL_KEY "=0.100"

/* What is known of a process when its target goes and comes again, below its start time. */
enum {
    KNOWN_WARM = 1,
    KNOWN_COLLECTED = 2,
    KNOWN_BITS = 2,
};

static const struct sonde_provider *find(const struct sn_ask *ask, bool is_metrics)
{
    for (size_t i = 0; i < ask->count; i++) {
        if ((strcasecmp(ask->items[i].name, SN_METRICS_PROVIDER) == 0) == is_metrics)
            return &ask->items[i];
    }
    return NULL;
}

void sn_steps_init(struct sn_hub_target *target)
{
    const uint64_t *known = sn_table_find(&target->hub->known, target->pid);
    uint64_t start_ticks = target->route.target.start_ticks;
    if (!known || *known >> KNOWN_BITS != start_ticks)
        return;
    target->steps.is_warm = *known & KNOWN_WARM;
    target->steps.has_collected = *known & KNOWN_COLLECTED;
}

void sn_steps_keep(struct sn_hub_target *target)
{
    const struct sn_hub_steps *steps = &target->steps;
    if (target->stage == SN_TARGET_ENDED) {
        sn_table_remove(&target->hub->known, target->pid);
        return;
    }
    uint64_t *known = steps->is_warm ? sn_table_put(&target->hub->known, target->pid) : NULL;
    if (known) /* without memory it is cold once more */
        *known = (uint64_t)target->route.target.start_ticks << KNOWN_BITS | KNOWN_WARM |
                 (steps->has_collected ? KNOWN_COLLECTED : 0);
}

void sn_steps_note(struct sn_hub_session *session, const struct sn_schema *schema)
{
    struct sn_hub_steps *steps = &session->lane->target->steps;
    if (session->lane->number != SN_LANE_COUNTERS || (steps->polled_ns && steps->has_collected))
        return;
    if (strcasecmp(schema->provider, SN_METRICS_PROVIDER) != 0) {
        if (!steps->polled_ns && strcmp(schema->name, SN_COUNTERS_EVENT) == 0)
            steps->polled_ns = sn_clock_monotonic_ns();
        return;
    }
    if (!steps->begun_ns)
        steps->begun_ns = sn_clock_monotonic_ns();
    steps->has_collected |= schema->event_id == COLLECTION_STOP;
}

/* All of its threads are looked at for that, so not at every step. */
static bool has_no_values(struct sn_hub_target *target, uint64_t now_ns)
{
    struct sn_hub_steps *steps = &target->steps;
    if (!steps->asked_ns || now_ns < steps->asked_ns + NO_VALUE_NS || now_ns < steps->look_ns)
        return false;
    steps->look_ns = now_ns + SN_NS_PER_SECOND;
    return now_ns >= steps->asked_ns + NO_VALUE_MOST_NS || sn_counter_poller_is_idle(target->pid);
}

static void tend_warmth(struct sn_hub_target *target, const struct sn_hub_lane *lane,
                        uint64_t now_ns)
{
    struct sn_hub_steps *steps = &target->steps;
    if (lane->current && !steps->asked_ns && find(&lane->current->ask, false))
        steps->asked_ns = now_ns;
    steps->is_warm |= (steps->polled_ns && now_ns >= steps->polled_ns + SETTLED_NS) ||
                      has_no_values(target, now_ns);
}

/* Counters that every runtime has; at once where nobody else has an interval to lose. */
static bool add_counters(const struct sn_hub_target *target, struct sn_ask *ask)
{
    const struct sonde_provider *other = find(ask, false);
    bool is_idle = sn_counter_poller_is_idle(target->pid);
    struct sonde_provider counters = {.name = COUNTERS, .level = 1};
    counters.arguments = other ? other->arguments : is_idle ? QUICK_INTERVAL : SN_INTERVAL_KEY "=1";
    return sn_ask_add(ask, &counters, NULL) == SONDE_OK;
}

uint64_t sn_steps_fit(const struct sn_hub_lane *lane, struct sn_ask *ask, uint64_t now_ns)
{
    struct sn_hub_target *target = lane->target;
    struct sn_hub_steps *steps = &target->steps;
    const struct sonde_provider *metrics = find(ask, true);
    if (lane->number != SN_LANE_COUNTERS || !metrics)
        return 0;
    tend_warmth(target, lane, now_ns);
    bool is_asked = lane->current && find(&lane->current->ask, true);
    uint64_t age_ns = sn_target_age_ns(target);
    if (is_asked || (steps->is_warm && age_ns >= SONDE_METERS_AGE_LEAST_NS)) {
        if (!is_asked)
            steps->begun_ns = 0;
        return 0;
    }
    sn_ask_remove(ask, (size_t)(metrics - ask->items));
    if (age_ns < SONDE_METERS_AGE_LEAST_NS)
        return now_ns + (SONDE_METERS_AGE_LEAST_NS - age_ns);
    (void)add_counters(target, ask); /* without memory: at the next look */
    return now_ns + STEP_NS;
}

static const struct sonde_provider *running_metrics(const struct sn_hub_session *session)
{
    return session && !session->source->has_ended ? find(&session->ask, true) : NULL;
}

bool sn_steps_hold(const struct sn_hub_target *target, uint64_t now_ns)
{
    const struct sn_hub_steps *steps = &target->steps;
    const struct sn_hub_lane *lane = &target->lanes[SN_LANE_COUNTERS];
    const struct sonde_provider *metrics = running_metrics(lane->current);
    if (!metrics)
        metrics = running_metrics(lane->coming);
    if (!metrics || !steps->begun_ns || steps->has_collected)
        return false;
    double interval_s = sn_argument_number(metrics->arguments, "RefreshInterval");
    double most_s = (double)(UINT64_MAX / 4 / SN_NS_PER_SECOND);
    uint64_t interval_ns =
        (uint64_t)((interval_s < most_s ? interval_s : most_s) * (double)SN_NS_PER_SECOND);
    uint64_t due_ns = steps->begun_ns + interval_ns;
    return now_ns + COLLECTION_BEFORE_NS >= due_ns && now_ns < due_ns + COLLECTION_BEHIND_NS;
}
