/* What the runtime says when a process has only one metrics session and another tool holds it. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/hub_arguments.h"
#include "api/hub_parts.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "model/event.h"
#include "model/schema.h"

#define NOT_SUPPORTED 15u /* text: the id of the session that runs */
#define INCORRECT     17u /* texts: client; expected and actual histograms, series, interval */
#define TEXTS         7u

/* The runtime does not tell when another tool's session goes, and notices late when that tool was
 * killed: our own settings are tried after 3 s, 6 s ..., each time at the price of a gap in our
 * values. Where its settings serve us as well, that is soon given up. */
#define FIRST_RETRY_NS (3ull * SN_NS_PER_SECOND)
#define MOST_DOUBLINGS 5u
#define MOST_ADOPTED   3u

/* Between two times that settings are adopted. */
#define LEAST_ADOPTED_NS (1ull * SN_NS_PER_SECOND)

bool sn_conflict_is(const struct sn_schema *schema)
{
    return (schema->event_id == NOT_SUPPORTED || schema->event_id == INCORRECT) &&
           strcasecmp(schema->provider, SN_METRICS_PROVIDER) == 0;
}

/* The next text of the payload, printable, cut to the room there is. */
static void next_text(const struct sn_event *event, size_t *at, char *to, size_t size)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf shown = sn_buf_with_limit(16384);
    size_t end = *at;
    while (end + 2 <= event->payload_size && (event->payload[end] || event->payload[end + 1]))
        end += 2;
    sn_text_from_utf16(&text, event->payload + *at, (end - *at) / 2);
    sn_text_printable(&shown, (const char *)text.bytes, text.size);
    (void)snprintf(to, size, "%s", sn_buf_string(&shown));
    *at = end + 2 <= event->payload_size ? end + 2 : event->payload_size;
}

static bool is_plain(const char *number)
{
    return *number && !number[strspn(number, "0123456789.")];
}

static void try_later(struct sn_hub_target *target)
{
    target->retry_ns = sn_clock_deadline(FIRST_RETRY_NS << target->retries);
    target->retries += target->retries < MOST_DOUBLINGS;
}

/* Another client has other settings: they hold for all as long as one of them is there. */
static void adopt(struct sn_hub_target *target, char texts[TEXTS][64])
{
    struct sn_hub_settings *adopted = &target->adopted;
    if (!is_plain(texts[1]) || !is_plain(texts[3]) || !is_plain(texts[5]) ||
        strlen(texts[1]) >= SN_SETTING_SIZE || strlen(texts[3]) >= SN_SETTING_SIZE ||
        strlen(texts[5]) >= SN_SETTING_SIZE)
        return; /* numbers of a culture that we cannot write */
    if (strcmp(adopted->histograms, texts[1]) == 0 && strcmp(adopted->series, texts[3]) == 0 &&
        strcmp(adopted->refresh, texts[5]) == 0)
        return; /* that is what we ask for: once more would change nothing */
    uint64_t now_ns = sn_clock_monotonic_ns();
    if (target->adopted_ns && now_ns - target->adopted_ns < LEAST_ADOPTED_NS) {
        if (!target->retry_ns)
            try_later(target); /* a runtime that changes its mind again and again */
        return;
    }
    target->adopted_ns = now_ns;
    memcpy(adopted->histograms, texts[1], strlen(texts[1]) + 1);
    memcpy(adopted->series, texts[3], strlen(texts[3]) + 1);
    memcpy(adopted->refresh, texts[5], strlen(texts[5]) + 1);
    if (target->retries < MOST_ADOPTED)
        try_later(target);
    target->lanes[SN_LANE_COUNTERS].must_ask_again = true;
    target->lanes[SN_LANE_COUNTERS].is_dirty = true;
    (void)snprintf(
        target->conflict, sizeof(target->conflict),
        "another tool (the runtime does not say which) shares the metrics of pid %u: every %s s, at most %s series and %s "
        "histograms, and so do we",
        target->pid, texts[5], texts[3], texts[1]);
}

void sn_conflict_take(struct sn_hub_target *target, const struct sn_event *event)
{
    char texts[TEXTS][64] = {{0}};
    size_t at = 0;
    size_t count = event->schema->event_id == INCORRECT ? TEXTS : 1;
    for (size_t i = 0; i < count; i++)
        next_text(event, &at, texts[i], sizeof(texts[i]));
    if (event->schema->event_id == NOT_SUPPORTED) {
        try_later(target);
        (void)snprintf(target->conflict, sizeof(target->conflict),
                       "another tool (the runtime does not say which) holds the metrics session "
                       "\"%s\" of pid %u and does not share it: only what it asks for comes",
                       texts[0], target->pid);
    } else if (strncmp(texts[0], target->hub->client_id, strlen(target->hub->client_id)) == 0) {
        adopt(target, texts);
    }
}
