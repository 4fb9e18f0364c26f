#include "daemon/event_tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/redact.h"
#include "daemon/log_format.h"
#include "daemon/log_scrub.h"
#include "daemon/topic.h"
#include "sonde/log.h"
#include "sonde/writer.h"

#define MESSAGE_MAX (1u << 20)
#define NOTICE_MAX  96u
#define END_MAX     4096u
/* A process that floods is cut short here: telling takes time that others need. */
#define WINDOW_NS  (250ull * SN_NS_PER_MS)
#define WINDOW_MAX 500u

struct sn_event_tap {
    struct sn_topics *topics; /* borrows */
    char name[SN_TOPIC_NAME_SIZE];
    size_t message_max;
    bool shows_secrets;
    struct sonde_log_filter *filter; /* of logs */
    struct sonde_log_reader *reader;
    struct sn_log_scrub scrub;
    struct sonde_writer *writer; /* of events */
    uint64_t window_ns;          /* when the present window began */
    unsigned window_count;
    uint64_t skipped_count; /* since the last notice of a loss */
};

int sn_event_tap_new(const struct sn_event_tap_options *options, struct sn_event_tap **ret_tap,
                     struct sonde_error *err)
{
    struct sonde_writer_options writing = {.size = sizeof(writing), .format = SONDE_WRITER_NDJSON};
    struct sn_event_tap *tap = calloc(1, sizeof(*tap));
    if (!tap)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a topic");
    tap->topics = options->topics;
    tap->shows_secrets = options->shows_secrets;
    tap->message_max = options->message_max ? options->message_max : MESSAGE_MAX;
    (void)snprintf(tap->name, sizeof(tap->name), "%s", options->name);
    int rc = options->is_log ? sonde_log_filter_new(NULL, &tap->filter, err)
                             : sonde_writer_new(&writing, &tap->writer, err);
    if (rc == SONDE_OK && options->is_log)
        rc = sonde_log_reader_new(&tap->reader, err);
    if (rc == SONDE_OK)
        *ret_tap = tap;
    else
        sn_event_tap_free(tap);
    return rc;
}

void sn_event_tap_free(struct sn_event_tap *tap)
{
    if (!tap)
        return;
    sonde_log_reader_free(tap->reader);
    sonde_log_filter_free(tap->filter);
    sonde_writer_free(tap->writer);
    sn_log_scrub_done(&tap->scrub);
    free(tap);
}

const char *sn_event_tap_name(const struct sn_event_tap *tap)
{
    return tap->name;
}

const struct sonde_provider *sn_event_tap_providers(struct sn_event_tap *tap, size_t *ret_count)
{
    return sonde_log_filter_providers(tap->filter, ret_count);
}

/* --- losses --- */

/* All that was left out since the last notice, and `count` more. */
static void publish_lost(struct sn_event_tap *tap, uint64_t count)
{
    struct sn_buf notice = sn_buf_with_limit(NOTICE_MAX);
    count += tap->skipped_count;
    tap->skipped_count = 0;
    if (!count)
        return;
    sn_buf_format(&notice, "{\"lost\":%llu}", (unsigned long long)count);
    sn_topics_publish(tap->topics, tap->name, &notice);
}

/* Takes the bytes of `message`. One that is too large, or has no memory, is a loss. */
static void publish(struct sn_event_tap *tap, struct sn_buf *message)
{
    while (message->size && message->bytes[message->size - 1] == '\n')
        message->size--;
    if (message->failed) {
        sn_buf_done(message);
        publish_lost(tap, 1);
        return;
    }
    sn_topics_publish(tap->topics, tap->name, message);
}

/* Whether there is time for another one. */
static bool has_time(struct sn_event_tap *tap)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    if (now_ns - tap->window_ns > WINDOW_NS) {
        tap->window_ns = now_ns;
        tap->window_count = 0;
        publish_lost(tap, 0);
    }
    if (tap->window_count < WINDOW_MAX) {
        tap->window_count++;
        return true;
    }
    tap->skipped_count++;
    return false;
}

bool sn_event_tap_has_untold(const struct sn_event_tap *tap)
{
    return tap->skipped_count > 0;
}

void sn_event_tap_settle(struct sn_event_tap *tap)
{
    publish_lost(tap, 0);
}

void sn_event_tap_lost(void *user, uint64_t thread_id, uint64_t count)
{
    (void)thread_id;
    publish_lost(user, count);
}

/* --- messages --- */

static int take_log(struct sn_event_tap *tap, struct sonde_event *event)
{
    struct sonde_log_message message;
    int rc = sonde_log_reader_take(tap->reader, event, &message);
    if (rc < 0)
        publish_lost(tap, 1);
    if (rc != SONDE_OK || !sonde_log_filter_holds(tap->filter, message.category, message.level))
        return SONDE_AGAIN;
    if (!has_time(tap))
        return SONDE_OK;
    struct sn_buf text = sn_buf_with_limit(tap->message_max);
    struct sonde_log_message shown = message;
    if (!tap->shows_secrets)
        sn_log_scrub_message(&tap->scrub, &message, &shown);
    sn_log_format_write(SN_LOG_NDJSON, &shown, tap->scrub.has_hidden, &text);
    publish(tap, &text);
    return SONDE_OK;
}

static int take_event(struct sn_event_tap *tap, struct sonde_event *event)
{
    struct sonde_writer_source source = {0};
    size_t size;
    if (!has_time(tap))
        return SONDE_OK;
    int rc = sonde_writer_event(tap->writer, &source, event);
    const char *text = sonde_writer_bytes(tap->writer, &size);
    struct sn_buf shown = sn_buf_with_limit(tap->message_max);
    (void)sn_redact_text(&shown, text, size);
    shown.failed |= rc != SONDE_OK;
    publish(tap, &shown);
    sonde_writer_clear(tap->writer);
    return SONDE_OK;
}

int sn_event_tap_take(void *user, struct sonde_event *event)
{
    struct sn_event_tap *tap = user;
    return tap->reader ? take_log(tap, event) : take_event(tap, event);
}

void sn_event_tap_end(struct sn_topics *topics, const char *name, const char *why)
{
    struct sn_buf text = sn_buf_with_limit(END_MAX);
    struct sn_json json = sn_json_to(&text);
    sn_json_object(&json, NULL);
    sn_json_bool(&json, "hasEnded", true);
    sn_json_text(&json, "why", why);
    sn_json_close(&json);
    sn_topics_publish(topics, name, &text);
}
