#include "daemon/log_operation.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "daemon/beat.h"
#include "daemon/daemon.h"
#include "daemon/log_format.h"
#include "daemon/log_scrub.h"
#include "daemon/roads.h"
#include "daemon/text_operation.h"
#include "sonde/hub.h"
#include "sonde/log.h"

#define TEXT_AGE_NS    ((uint64_t)100 * SN_NS_PER_MS) /* until it is written in any case */
#define DRAIN_NS       ((uint64_t)1500 * SN_NS_PER_MS) /* a runtime keeps events for up to a second */
#define LOGS_AT_A_TIME 3u

struct work {
    struct sn_operation *operation; /* borrows */
    struct sonde_log_filter *filter;
    struct sonde_log_reader *reader;
    struct sonde_consumer *consumer;
    struct sn_beat *beat;
    struct sn_text_output output;
    enum sn_log_format format;
    bool shows_secrets;
    struct sn_log_scrub scrub;
    uint64_t begin_utc_ns; /* messages from before are of a session that was there already */
    uint64_t end_utc_ns;   /* 0: not asked to stop yet */
    uint64_t deadline_ns;  /* until then what was logged before the end may come */
};

/* --- the end --- */

static void release(struct work *work)
{
    sonde_hub_remove(work->consumer);
    work->consumer = NULL;
    sn_beat_free(work->beat);
    work->beat = NULL;
}

static void free_work(struct sn_operation *operation)
{
    struct work *work = operation->user;
    operation->user = NULL;
    if (!work)
        return;
    release(work);
    sonde_log_reader_free(work->reader);
    sonde_log_filter_free(work->filter);
    sn_text_output_done(&work->output);
    sn_log_scrub_done(&work->scrub);
    free(work);
}

static void finish(struct work *work, int status, const char *message)
{
    struct sn_operation *operation = work->operation;
    release(work);
    sn_text_output_end(&work->output, operation, status, message);
}

/* --- while it runs --- */

static void beat(void *user)
{
    struct work *work = user;
    bool is_over = work->end_utc_ns && sn_clock_monotonic_ns() >= work->deadline_ns;
    if (sn_text_output_flush(&work->output) != SONDE_OK || is_over)
        finish(work, SONDE_OK, "");
}

/* Of the time that was asked for. The first one behind it says that all have come. */
static bool is_within(struct work *work, const struct sonde_log_message *message)
{
    if (!message->utc_ns)
        return true;
    if (work->end_utc_ns && message->utc_ns > work->end_utc_ns) {
        work->deadline_ns = 0;
        return false;
    }
    return message->utc_ns >= work->begin_utc_ns;
}

static void put_lost(void *user, uint64_t count, struct sn_buf *to)
{
    const struct work *work = user;
    sn_log_format_lost(work->format, count, to);
}

static int take(void *user, struct sonde_event *event)
{
    struct work *work = user;
    struct sonde_log_message message;
    int rc = sonde_log_reader_take(work->reader, event, &message);
    if (rc < 0)
        sn_text_output_lose(&work->output);
    if (rc != SONDE_OK || !sonde_log_filter_holds(work->filter, message.category, message.level) ||
        !is_within(work, &message))
        return SONDE_AGAIN;
    struct sonde_log_message shown = message;
    if (!work->shows_secrets)
        sn_log_scrub_message(&work->scrub, &message, &shown);
    sn_log_format_write(work->format, &shown, !work->shows_secrets && work->scrub.has_hidden,
                        &work->output.text);
    sn_text_output_put(&work->output);
    return SONDE_OK;
}

static void changed(void *user, struct sonde_consumer *consumer)
{
    struct work *work = user;
    struct sonde_consumer_state state;
    sonde_consumer_state(consumer, &state);
    if (state.phase == SONDE_CONSUMER_LIVE)
        sn_operation_running(work->operation);
    if (state.phase != SONDE_CONSUMER_ENDED)
        return;
    /* A program that has ended has said what it had to say. */
    bool is_fine = state.status >= SONDE_OK || state.status == SONDE_E_GONE;
    struct sonde_error err = {0};
    if (!is_fine)
        (void)sn_fail(&err, state.status, 0, "%s", state.error);
    finish(work, is_fine ? SONDE_OK : state.status, err.text);
}

/* --- the beginning --- */

static enum sn_log_format read_format(const char *word)
{
    if (word && strcmp(word, "ndjson") == 0)
        return SN_LOG_NDJSON;
    return word && strcmp(word, "json-seq") == 0 ? SN_LOG_JSON_SEQ : SN_LOG_TEXT;
}

static int read_settings(struct work *work, const json_t *settings, struct sonde_error *err)
{
    size_t index;
    const json_t *category;
    work->shows_secrets = json_is_true(json_object_get(settings, "secrets"));
    work->format = read_format(json_string_value(json_object_get(settings, "format")));
    int rc = sonde_log_filter_new(json_string_value(json_object_get(settings, "level")),
                                  &work->filter, err);
    json_array_foreach(json_object_get(settings, "categories"), index, category)
    {
        if (rc == SONDE_OK && json_is_string(category))
            rc = sonde_log_filter_add(work->filter, json_string_value(category), err);
    }
    return rc;
}

static int listen_to(struct work *work, struct sonde_error *err)
{
    struct sn_roads *roads = work->operation->daemon->roads;
    struct sonde_consumer_options options = {
        .size = sizeof(options), .pid = work->operation->pid, .in_order = true, .changed = changed};
    options.providers = sonde_log_filter_providers(work->filter, &options.provider_count);
    if (!options.providers)
        return sn_fail(err, SONDE_E_LIMIT, 0, "the categories are too many or too long");
    int rc = sonde_log_reader_new(&work->reader, err);
    if (rc == SONDE_OK)
        rc = sn_beat_new(roads, TEXT_AGE_NS, beat, work, &work->beat, err);
    if (rc == SONDE_OK)
        rc = sonde_hub_add(sn_roads_hub(roads), &options, take, work, &work->consumer, err);
    return rc;
}

static int start(struct sn_operation *operation, struct sonde_error *err)
{
    struct work *work = calloc(1, sizeof(*work));
    if (!work)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for logs");
    operation->user = work;
    work->operation = operation;
    work->output.put_lost = put_lost;
    work->output.user = work;
    work->begin_utc_ns = sn_clock_utc_ns();
    int rc = read_settings(work, operation->settings, err);
    if (rc == SONDE_OK)
        rc = sn_text_output_begin(&work->output, operation->artefact, 0, err);
    return rc == SONDE_OK ? listen_to(work, err) : rc;
}

static void stop(struct sn_operation *operation)
{
    struct work *work = operation->user;
    work->end_utc_ns = sn_clock_utc_ns();
    work->deadline_ns = sn_clock_deadline(DRAIN_NS);
}

static void cancel(struct sn_operation *operation)
{
    finish(operation->user, SONDE_OK, "");
}

const struct sn_operation_kind sn_log_operation = {
    .name = "logs",
    .extension = "txt",
    .content_type = "text/plain",
    .concurrent_max = LOGS_AT_A_TIME,
    .is_stoppable = true,
    .start = start,
    .stop = stop,
    .cancel = cancel,
    .free = free_work,
};
