/* A consumer of a hub: what it asked for, sorted into lanes, and how it fares. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/hub_arguments.h"
#include "api/hub_parts.h"
#include "api/options_in.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"

#define TEXTS_LIMIT    (1u << 20)
#define PROVIDER_LIMIT 1024u

/* --- what it wants --- */

static int no_room(struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_LIMIT, 0, "what a consumer asks for takes over %u bytes",
                   TEXTS_LIMIT);
}

/* Another thing that it wants of a lane: of the runtime, and of what comes. */
static int add(struct sonde_consumer *consumer, enum sn_lane_number lane,
               const struct sonde_provider *provider, const char *event_name,
               struct sonde_error *err)
{
    struct sn_arena *texts = &consumer->texts;
    struct sn_request_item *items = (struct sn_request_item *)consumer->request.items;
    struct sn_request_item *item = &items[consumer->request.item_count];
    if (provider->id_count > TEXTS_LIMIT / sizeof(uint32_t))
        return no_room(err);
    uint32_t *ids = sn_arena_alloc(texts, provider->id_count * sizeof(*ids) + 1);
    char *name = sn_arena_copy(texts, provider->name, strlen(provider->name));
    char *event = event_name ? sn_arena_copy(texts, event_name, strlen(event_name)) : NULL;
    if (!ids || !name || (event_name && !event))
        return no_room(err);
    if (provider->id_count)
        memcpy(ids, provider->ids, provider->id_count * sizeof(*ids));
    *item = (struct sn_request_item){.provider = name,
                                     .name = event,
                                     .any_case = true,
                                     .keywords = provider->keywords,
                                     .level = provider->level,
                                     .is_exact = true,
                                     .lane = (uint8_t)(lane + 1),
                                     .ids = ids,
                                     .id_count = provider->id_count,
                                     .ids_are_excluded = provider->ids_are_excluded};
    consumer->request.item_count++;
    return sn_ask_add(&consumer->asks[lane], provider, err);
}

static bool is_fit(double setting)
{
    return setting > 0 && setting <= 1e6;
}

/* What of the arguments is for the metrics session and not for who it is, with the defaults put in
 * so that all of it is known. */
static int add_metrics(struct sonde_consumer *consumer, const struct sonde_provider *provider,
                       const char *event_name, struct sonde_error *err)
{
    static const char *const defaults[][2] = {
        {"RefreshInterval", "1"}, {"MaxTimeSeries", "1000"}, {"MaxHistograms", "20"}};
    SN_AUTO(sn_buf_done) struct sn_buf anonymous = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    sn_arguments_without(&anonymous, provider->arguments, "SessionId");
    sn_arguments_without(&text, sn_buf_string(&anonymous), "ClientId");
    for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++) {
        struct sn_argument there;
        if (!sn_argument_find(sn_buf_string(&text), defaults[i][0], &there))
            sn_argument_put(&text, defaults[i][0], defaults[i][1]);
        else if (!is_fit(sn_argument_number(sn_buf_string(&text), defaults[i][0])))
            return sn_fail(err, SONDE_E_ARGUMENT, 0,
                           "%s must be a number above zero, a million at most", defaults[i][0]);
    }
    if (anonymous.failed || text.failed)
        return no_room(err);
    struct sonde_provider plain = *provider;
    plain.arguments = sn_buf_string(&text);
    return add(consumer, SN_LANE_COUNTERS, &plain, event_name, err);
}

/* Counters of a provider, and its other events where those were asked for as well. */
static int add_counters(struct sonde_consumer *consumer, const struct sonde_provider *provider,
                        const char *event_name, struct sonde_error *err)
{
    /* An interval of zero would make the runtime spin. */
    double interval = sn_argument_number(provider->arguments, SN_INTERVAL_KEY);
    if (interval < 0.001 || interval > 1e6)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "%s of provider %s must be a number of seconds, such as 1 or 0.5",
                       SN_INTERVAL_KEY, provider->name);
    if (!provider->keywords)
        return add(consumer, SN_LANE_COUNTERS, provider, event_name, err);
    SN_AUTO(sn_buf_done) struct sn_buf rest = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf own = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    struct sn_argument argument;
    struct sonde_provider counters = {.name = provider->name, .level = provider->level};
    struct sonde_provider events = *provider;
    sn_arguments_without(&rest, provider->arguments, SN_INTERVAL_KEY);
    (void)sn_argument_find(provider->arguments, SN_INTERVAL_KEY, &argument); /* it is there */
    sn_buf_format(&own, "%s=%.*s", SN_INTERVAL_KEY, (int)argument.value_size, argument.value);
    if (rest.failed || own.failed)
        return no_room(err);
    counters.arguments = sn_buf_string(&own);
    events.arguments = rest.size ? sn_buf_string(&rest) : NULL;
    int rc =
        add(consumer, SN_LANE_COUNTERS, &counters, event_name ? event_name : "EventCounters", err);
    return rc == SONDE_OK ? add(consumer, SN_LANE_EVENTS, &events, event_name, err) : rc;
}

static int sort_provider(struct sonde_consumer *consumer, const struct sonde_provider *provider,
                         const char *event_name, struct sonde_error *err)
{
    struct sn_argument argument;
    if (strcasecmp(provider->name, SN_METRICS_PROVIDER) == 0)
        return add_metrics(consumer, provider, event_name, err);
    if (sn_argument_find(provider->arguments, SN_INTERVAL_KEY, &argument))
        return add_counters(consumer, provider, event_name, err);
    bool is_logs = strcasecmp(provider->name, SN_LOGGING_PROVIDER) == 0;
    return add(consumer, is_logs ? SN_LANE_LOGS : SN_LANE_EVENTS, provider, event_name, err);
}

static int add_provider(struct sonde_consumer *consumer, const struct sonde_provider *provider,
                        const char *event_name, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf arguments = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    struct sonde_provider normal = *provider;
    if (!provider->name || !*provider->name)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a provider has no name");
    int rc = sn_arguments_normal(provider->name, provider->arguments, &arguments, err);
    normal.arguments = arguments.size ? sn_buf_string(&arguments) : NULL;
    return rc == SONDE_OK ? sort_provider(consumer, &normal, event_name, err) : rc;
}

static int read_wants(struct sonde_consumer *consumer, const struct sonde_consumer_options *options,
                      struct sonde_error *err)
{
    if (!options->provider_count)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a consumer needs at least one provider");
    if (options->provider_count > PROVIDER_LIMIT)
        return no_room(err);
    consumer->request.items = sn_arena_alloc(
        &consumer->texts, 2 * options->provider_count * sizeof(*consumer->request.items));
    if (!consumer->request.items)
        return no_room(err);
    int rc = SONDE_OK;
    for (size_t i = 0; rc == SONDE_OK && i < options->provider_count; i++)
        rc = add_provider(consumer, &options->providers[i], options->name, err);
    for (size_t i = SN_LANE_EVENTS; i < SN_LANES; i++)
        consumer->asks[i].stacks = options->stacks && consumer->asks[i].count;
    return rc;
}

/* --- how it fares --- */

static int take(void *user, struct sonde_event *event)
{
    struct sonde_consumer *consumer = user;
    if (sn_consumer_is_over(consumer))
        return SONDE_AGAIN;
    int rc = consumer->take(consumer->user, event);
    if (rc == SONDE_OK || rc == SONDE_END)
        consumer->delivered_count++;
    else
        consumer->declined_count++;
    if (rc != SONDE_OK && rc != SONDE_AGAIN)
        sn_consumer_end(consumer, rc, NULL);
    return SONDE_OK;
}

void sn_consumer_lose(struct sonde_consumer *consumer, uint64_t thread_id, uint64_t count)
{
    consumer->lost_count += count;
    if (consumer->lost)
        consumer->lost(consumer->user, thread_id, count);
}

/* The road had no memory to hold it. */
static void lose(void *user, uint64_t thread_id, uint64_t count)
{
    struct sonde_consumer *consumer = user;
    if (!sn_consumer_is_over(consumer))
        sn_consumer_lose(consumer, thread_id, count);
}

static const struct sn_trace_info *info_of(const void *stream)
{
    const struct sn_hub_target *target = ((const struct sonde_consumer *)stream)->target;
    return target->has_info ? &target->info : NULL;
}

int sn_consumer_new(const struct sonde_consumer_options *options, sonde_event_fn *take_event,
                    void *user, struct sonde_consumer **ret_consumer, struct sonde_error *err)
{
    struct sonde_consumer *consumer = calloc(1, sizeof(*consumer));
    if (!consumer)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a consumer");
    consumer->take = take_event;
    consumer->lost = options->lost;
    consumer->changed = options->changed;
    consumer->user = user;
    consumer->number = -1;
    consumer->texts = sn_arena_with_limit(TEXTS_LIMIT);
    consumer->receiver = (struct sn_receiver){
        .take = take, .lost = lose, .user = consumer, .info = info_of, .stream = consumer};
    int rc = read_wants(consumer, options, err);
    if (rc != SONDE_OK) {
        sn_consumer_free(consumer);
        return rc;
    }
    *ret_consumer = consumer;
    return SONDE_OK;
}

void sn_consumer_free(struct sonde_consumer *consumer)
{
    for (size_t i = 0; i < SN_LANES; i++)
        sn_ask_done(&consumer->asks[i]);
    sn_arena_done(&consumer->texts);
    free(consumer);
}

void sn_consumer_set_phase(struct sonde_consumer *consumer, int phase)
{
    consumer->phase = phase;
    consumer->is_changed = true;
}

bool sn_consumer_is_over(const struct sonde_consumer *consumer)
{
    return consumer->is_removed || consumer->phase == SONDE_CONSUMER_ENDED;
}

void sn_consumer_end(struct sonde_consumer *consumer, int status, const struct sonde_error *err)
{
    if (sn_consumer_is_over(consumer))
        return;
    for (size_t i = 0; i < SN_LANES; i++)
        consumer->target->lanes[i].is_dirty = true;
    consumer->status = status;
    if (err)
        consumer->err = *err;
    else if (status < 0)
        (void)sn_fail(&consumer->err, status, 0, "given up by who takes its events");
    sn_consumer_set_phase(consumer, SONDE_CONSUMER_ENDED);
}

void sonde_consumer_state(const struct sonde_consumer *consumer,
                          struct sonde_consumer_state *ret_state)
{
    *ret_state = (struct sonde_consumer_state){
        .phase = consumer->phase,
        .status = consumer->status,
        .delivered_count = consumer->delivered_count,
        .declined_count = consumer->declined_count,
        .lost_count = consumer->lost_count,
        .error = consumer->status < 0 ? consumer->err.text : "",
    };
}
