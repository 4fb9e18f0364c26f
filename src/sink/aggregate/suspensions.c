#include "sink/aggregate/suspensions.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "clr/words.h"
#include "model/event.h"
#include "model/kernel_report.h"
#include "model/schema.h"

#define GC_START      1u
#define RESTART_END   3u
#define SUSPEND_BEGIN 9u

#define FOR_GC      1u
#define FOR_GC_PREP 6u                     /* the second pause of a background collection */
#define NO_GC       (SN_STOP_REASONS - 1u) /* no collection was seen in it */

/* A thread comes back this much after the end at the latest, unless it waited for something else:
 * it has to be woken and to find a CPU. */
#define LATE_NS (20ull * SN_NS_PER_MS)

/* The end of one that lasts longer was lost. */
#define LONGEST_NS (10ull * SN_NS_PER_SECOND)

/* Of the event's thread: others may begin one meanwhile, and wait until this one is over. */
static struct sn_suspension *find_open(struct sn_suspensions *suspensions,
                                       const struct sn_event *event)
{
    for (size_t i = 0; i < SN_SUSPENSIONS_KEPT; i++) {
        struct sn_suspension *one = &suspensions->list[i];
        if (one->start_ns && !one->end_ns && one->pid == event->pid &&
            one->thread_id == event->thread_id)
            return one;
    }
    return NULL;
}

/* The one in which a collection starts: of its own thread, else the latest. */
static struct sn_suspension *find_around(struct sn_suspensions *suspensions,
                                         const struct sn_event *event)
{
    struct sn_suspension *found = find_open(suspensions, event);
    for (size_t i = 0; !found && i < SN_SUSPENSIONS_KEPT; i++) {
        size_t age = suspensions->next - 1 - i; /* wraps as it should */
        struct sn_suspension *one = &suspensions->list[age % SN_SUSPENSIONS_KEPT];
        if (one->start_ns && !one->end_ns && one->pid == event->pid)
            found = one;
    }
    return found;
}

static struct sn_stop_sum *sum_of(struct sn_suspensions *suspensions, uint32_t reason)
{
    struct sn_stop_sum *sum = &suspensions->report->by_reason[reason < NO_GC ? reason : NO_GC];
    sum->name = reason < NO_GC ? sn_clr_gc_reason(reason) : "no collection seen";
    return sum;
}

static void begin(struct sn_suspensions *suspensions, const struct sn_event *event)
{
    suspensions->list[suspensions->next++ % SN_SUSPENSIONS_KEPT] =
        (struct sn_suspension){.pid = event->pid,
                               .thread_id = event->thread_id,
                               .start_ns = event->time_ns,
                               .reason = NO_GC};
}

static void end(struct sn_suspensions *suspensions, struct sn_suspension *one, uint64_t end_ns)
{
    struct sn_suspension_report *report = suspensions->report;
    struct sn_stop_sum *sum = sum_of(suspensions, one->reason);
    uint64_t ns = end_ns > one->start_ns ? end_ns - one->start_ns : 0;
    one->end_ns = end_ns;
    report->event_count++;
    report->ns += ns;
    report->max_ns = ns > report->max_ns ? ns : report->max_ns;
    sum->count++;
    sum->ns += ns;
    sum->thread_ns += one->thread_ns;
}

void sn_suspensions_take(struct sn_suspensions *suspensions, const struct sn_event *event)
{
    struct sn_suspension *open = find_open(suspensions, event);
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    uint32_t why = 0;
    switch (event->schema->event_id) {
    case SUSPEND_BEGIN:
        if (open)
            open->start_ns = 0; /* its end was lost */
        why = sn_cursor_u32(&cur);
        if (!cur.bad && (why == FOR_GC || why == FOR_GC_PREP))
            begin(suspensions, event);
        break;
    case GC_START:
        open = find_around(suspensions, event);
        sn_cursor_skip(&cur, 8); /* number, generation */
        if (open && open->reason == NO_GC) {
            uint32_t reason = sn_cursor_u32(&cur);
            open->reason = cur.bad ? NO_GC : reason;
        }
        break;
    case RESTART_END:
        if (open)
            end(suspensions, open, event->time_ns);
        break;
    default: break;
    }
}

bool sn_suspensions_off(struct sn_suspensions *suspensions, const struct sn_event *event,
                        uint64_t off_ns)
{
    uint64_t left_ns = event->time_ns > off_ns ? event->time_ns - off_ns : 0;
    for (size_t i = 0; i < SN_SUSPENSIONS_KEPT; i++) {
        struct sn_suspension *one = &suspensions->list[i];
        if (!one->start_ns || one->pid != event->pid || one->thread_id == event->thread_id ||
            left_ns < one->start_ns || (one->end_ns && left_ns >= one->end_ns) ||
            (!one->end_ns && event->time_ns > one->start_ns + LONGEST_NS) ||
            (one->end_ns && event->time_ns > one->end_ns + LATE_NS))
            continue;
        suspensions->report->thread_ns += off_ns;
        if (one->end_ns)
            sum_of(suspensions, one->reason)->thread_ns += off_ns;
        else
            one->thread_ns += off_ns;
        return true;
    }
    return false;
}

bool sn_suspensions_is_collecting(const struct sn_suspensions *suspensions,
                                  const struct sn_event *event)
{
    for (size_t i = 0; i < SN_SUSPENSIONS_KEPT; i++) {
        const struct sn_suspension *one = &suspensions->list[i];
        if (one->start_ns && !one->end_ns && one->pid == event->pid &&
            one->thread_id == event->thread_id && event->time_ns < one->start_ns + LONGEST_NS)
            return true;
    }
    return false;
}
