#include "cli/remote_events.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/remote.h"
#include "cli/remote_processes.h"
#include "cli/signals.h"
#include "net/http_client.h"

/* A program may have nothing to tell for long; the controller says now and then that it is there.
 */
#define SILENCE_NS (300ull * SN_NS_PER_SECOND)
#define LINE_LIMIT (2u << 20)
#define TOPIC_MAX  255u
#define DATA       "data: "

struct reading {
    const struct sn_remote_events *wanted; /* borrows */
    struct sn_buf line;                    /* what came of it */
    int fd;                                /* not owned */
    uint64_t event_count;
    uint64_t lost_count;
    bool has_ended; /* the process, or its session */
    bool is_enough; /* the limit was reached, or the reader has left */
    char why[256];  /* it has ended */
};

/* --- each event --- */

static const struct sonde_provider *find_provider(const struct sn_remote_events *wanted,
                                                  const char *name)
{
    for (size_t i = 0; i < wanted->provider_count; i++) {
        if (strcasecmp(wanted->providers[i].name, name) == 0)
            return &wanted->providers[i];
    }
    return NULL;
}

/* A topic has no list of ids: what else it brings is left out here. */
static bool has_id(const struct sonde_provider *provider, double id)
{
    bool is_listed = false;
    if (!provider || !provider->id_count)
        return true;
    for (size_t i = 0; i < provider->id_count; i++)
        is_listed = is_listed || (double)provider->ids[i] == id;
    return is_listed != provider->ids_are_excluded;
}

static bool is_wanted(const struct sn_remote_events *wanted, const json_t *event)
{
    const char *name = sn_remote_text(event, "event");
    bool is_named = !wanted->events->count;
    for (size_t i = 0; i < wanted->events->count && !is_named; i++)
        is_named = fnmatch(wanted->events->items[i], name, FNM_CASEFOLD) == 0;
    return is_named && (!wanted->level || sn_remote_real(event, "level") <= wanted->level) &&
           has_id(find_provider(wanted, sn_remote_text(event, "provider")),
                  sn_remote_real(event, "id"));
}

/* JSON has no control characters but those that would be written as \u: none goes to a terminal. */
static int put_line(struct reading *reading, char *text, size_t size, struct sonde_error *err)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)text[i];
        bool is_c1 = i && (uint8_t)text[i - 1] == 0xc2 && byte >= 0x80 && byte < 0xa0;
        if (byte < ' ' || byte == 0x7f || is_c1)
            text[i] = '?';
    }
    text[size] = '\n';
    for (size_t done = 0; done < size + 1;) {
        ssize_t part = write(reading->fd, text + done, size + 1 - done);
        if (part < 0 && errno == EPIPE) {
            reading->is_enough = true;
            return SONDE_OK;
        }
        if (part < 0 && errno != EINTR)
            return sn_fail_errno(err, "cannot write");
        done += part > 0 ? (size_t)part : 0;
    }
    reading->event_count++;
    reading->is_enough = reading->wanted->limit && reading->event_count >= reading->wanted->limit;
    return SONDE_OK;
}

/* An event, or what the topic says of itself. */
static int take_data(struct reading *reading, char *text, size_t size, struct sonde_error *err)
{
    json_t *event = json_loadb(text, size, JSON_DECODE_INT_AS_REAL, NULL); /* of any size */
    int rc = SONDE_OK;
    if (!json_is_object(event)) {
        rc = sn_fail(err, SONDE_E_FORMAT, 0, "the controller sent what is no event");
    } else if (json_object_get(event, "provider")) {
        if (is_wanted(reading->wanted, event))
            rc = put_line(reading, text, size, err);
    } else if (sn_remote_bool(event, "hasEnded")) {
        reading->has_ended = true;
        (void)snprintf(reading->why, sizeof(reading->why), "%.255s", sn_remote_text(event, "why"));
    } else {
        reading->lost_count += sn_remote_u64(event, "lost") + sn_remote_u64(event, "count");
    }
    json_decref(event);
    return rc;
}

static int take_line(struct reading *reading, struct sonde_error *err)
{
    struct sn_buf *line = &reading->line;
    char *text = (char *)line->bytes;
    size_t head = strlen(DATA);
    int rc = SONDE_OK;
    if (line->size > head && strncmp(text, DATA, head) == 0)
        rc = take_data(reading, text + head, line->size - head - 1, err);
    sn_buf_clear(line);
    return rc == SONDE_OK && (reading->is_enough || reading->has_ended) ? SONDE_END : rc;
}

static int take(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct reading *reading = user;
    const uint8_t *at = bytes;
    int rc = SONDE_OK;
    while (size && rc == SONDE_OK) {
        const uint8_t *end = memchr(at, '\n', size);
        size_t part = end ? (size_t)(end - at) + 1 : size;
        sn_buf_append(&reading->line, at, part);
        if (reading->line.failed)
            return sn_fail(err, SONDE_E_LIMIT, 0, "a line of the controller has no end");
        if (end)
            rc = take_line(reading, err);
        at += part;
        size -= part;
    }
    return rc;
}

/* --- asking --- */

/* Everything but letters and digits is escaped: names of providers are anybody's. */
static int put_path(const struct sn_remote_events *events, uint32_t pid, struct sn_buf *to,
                    struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf topic = sn_buf_with_limit(TOPIC_MAX);
    sn_buf_format(&topic, "events/%" PRIu32, pid);
    for (size_t i = 0; i < events->provider_count; i++) {
        const struct sonde_provider *provider = &events->providers[i];
        if (provider->arguments || strpbrk(provider->name, ",|?"))
            return sn_fail(err, SONDE_E_ARGUMENT, 0,
                           "'%.100s' with arguments does not go through a controller (--host)",
                           provider->name);
        sn_buf_format(&topic, "%c%s:0x%" PRIx64 ":%u", i ? '|' : '?', provider->name,
                      provider->keywords, provider->level);
    }
    if (topic.failed)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "so many providers do not go through a controller (--host): name fewer");
    sn_buf_text(to, "/api/v1/stream?topics=");
    for (size_t i = 0; i < topic.size; i++)
        sn_buf_format(to, "%%%02X", topic.bytes[i]);
    return SONDE_OK;
}

static int read_pid(const char *text, uint64_t *ret_pid, struct sonde_error *err)
{
    *ret_pid = 0;
    if (!text || (sn_text_to_u64(text, INT32_MAX, ret_pid) && *ret_pid))
        return SONDE_OK;
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%.32s' is not a pid", text);
}

static int fetch(struct reading *reading, struct sn_remote *remote, struct sonde_error *err)
{
    const struct sn_remote_events *wanted = reading->wanted;
    SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(8192);
    struct sonde_error cause = {0};
    uint64_t number;
    uint32_t pid = 0;
    int rc = read_pid(wanted->pid, &number, err);
    if (rc == SONDE_OK)
        rc = sn_remote_processes_choose(remote, number, wanted->name, &pid, err);
    if (rc == SONDE_OK)
        rc = put_path(wanted, pid, &path, err);
    if (rc != SONDE_OK)
        return rc;
    sn_http_client_set_timeout(remote->client, SILENCE_NS);
    rc = sn_remote_fetch(remote, sn_buf_string(&path), "text/event-stream", take, reading, &cause);
    if (reading->is_enough || reading->has_ended || sn_http_client_is_stopped(remote->client))
        return SONDE_OK;
    return rc == SONDE_OK ? sn_fail(err, SONDE_E_GONE, 0, "the controller has ended")
                          : sn_fail_as(err, &cause);
}

/* --- until when --- */

struct ends {
    int signals;
    int timer;
    int both; /* readable when one of them is */
};

static void ends_done_auto(struct ends *ends)
{
    sn_close(ends->both);
    sn_close(ends->timer);
    sn_close(ends->signals);
}

static int open_ends(struct ends *ends, uint64_t duration_ns, struct sonde_error *err)
{
    struct epoll_event in = {.events = EPOLLIN};
    struct itimerspec after = {.it_value = {.tv_sec = (time_t)(duration_ns / SN_NS_PER_SECOND),
                                            .tv_nsec = (long)(duration_ns % SN_NS_PER_SECOND)}};
    int rc = sn_signals_open(&ends->signals, err);
    if (rc != SONDE_OK)
        return rc;
    ends->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    ends->both = epoll_create1(EPOLL_CLOEXEC);
    if (ends->timer < 0 || ends->both < 0 || timerfd_settime(ends->timer, 0, &after, NULL) != 0 ||
        epoll_ctl(ends->both, EPOLL_CTL_ADD, ends->signals, &in) != 0 ||
        epoll_ctl(ends->both, EPOLL_CTL_ADD, ends->timer, &in) != 0)
        return sn_fail_errno(err, "cannot watch the time");
    return SONDE_OK;
}

/* --- the verb --- */

static int finish(const struct reading *reading)
{
    char text[2][32];
    (void)fprintf(stderr, "%s events, %s lost, read by the controller\n",
                  sn_text_count(reading->event_count, text[0]),
                  sn_text_count(reading->lost_count, text[1]));
    return reading->lost_count ? SN_EXIT_PARTIAL : SN_EXIT_DONE;
}

int sn_remote_events_run(const struct sn_remote_events *events,
                         const struct sn_remote_choice *choice)
{
    struct sonde_error err = {0};
    SN_AUTO(ends_done) struct ends ends = {.signals = -1, .timer = -1, .both = -1};
    SN_AUTO(sn_remote_close) struct sn_remote *remote = NULL;
    SN_AUTO(sn_close) int file = -1;
    struct reading reading = {
        .wanted = events, .fd = STDOUT_FILENO, .line = sn_buf_with_limit(LINE_LIMIT)};
    int rc = open_ends(&ends, events->duration_ns, &err);
    if (rc == SONDE_OK)
        rc = sn_remote_open(choice, false, ends.both, &remote, &err);
    if (rc == SONDE_OK && events->output && strcmp(events->output, "-") != 0) {
        rc = sn_file_create(events->output, &file, &err);
        if (rc == SONDE_OK)
            sn_file_truncate(file);
        reading.fd = file;
    }
    if (rc == SONDE_OK)
        rc = fetch(&reading, remote, &err);
    sn_buf_done(&reading.line);
    if (rc == SONDE_OK && reading.has_ended && !reading.event_count)
        rc = sn_fail(&err, SONDE_E_NOT_FOUND, 0, "%s", reading.why);
    return rc == SONDE_OK ? finish(&reading) : sn_command_fail(&err);
}
