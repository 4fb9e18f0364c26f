#include "cli/remote_recording.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/file_name.h"
#include "cli/out_file.h"
#include "cli/remote.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "net/http_client.h"

#define LOOK_MS       250
#define GIVE_UP_AT    2u /* a second Ctrl-C wants no more of it */
#define LEASE_SECONDS 30 /* it ends when we do, whatever ends us */
#define LOOKS_AT_END  20 /* for as long as it may take to stop before it is deleted */
#define PATH_SIZE     128
#define OUTPUT_LIMIT  (64u << 10)

/* --- bodies --- */

void sn_remote_put_text(json_t *body, const char *name, const char *text)
{
    if (text)
        (void)json_object_set_new(body, name, json_string(text));
}

void sn_remote_put_list(json_t *body, const char *name, const char *const *items, size_t count)
{
    json_t *list = count ? json_array() : NULL;
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(list, json_string(items[i]));
    if (list)
        (void)json_object_set_new(body, name, list);
}

void sn_remote_put_words(json_t *body, const char *name, const char *const *items, size_t count)
{
    SN_AUTO(sn_buf_done) struct sn_buf words = sn_buf_with_limit(OUTPUT_LIMIT);
    for (size_t i = 0; i < count; i++)
        sn_buf_format(&words, "%s%s", i ? "," : "", items[i]);
    if (count)
        sn_remote_put_text(body, name, sn_buf_string(&words));
}

/* --- asking --- */

/* A signal is read before each request: it ends the one during which it comes. */
static void mind_signals(struct sn_remote_recording *recording)
{
    if (sn_signals_drain(recording->signals))
        recording->stop_count++;
}

static void put_path(const struct sn_remote_recording *recording, const char *more,
                     char to[PATH_SIZE])
{
    (void)snprintf(to, PATH_SIZE, "/api/v1/recordings/%s%s", recording->id, more);
}

static bool is_id(const char *text)
{
    size_t size = strlen(text);
    return size && size < sizeof(((struct sn_remote_recording *)0)->id) &&
           strspn(text, "0123456789abcdefABCDEF-") == size;
}

static void take_state(struct sn_remote_recording *recording, json_t *state)
{
    json_decref(recording->state);
    recording->state = state;
}

static int begin(struct sn_remote_recording *recording, struct sonde_error *err)
{
    json_t *state = NULL;
    (void)json_object_set_new(recording->body, "leaseSeconds", json_integer(LEASE_SECONDS));
    int rc = sn_remote_ask(recording->remote, "POST", "/api/v1/recordings", recording->body, &state,
                           err);
    if (rc != SONDE_OK)
        return rc;
    const char *id = sn_remote_text(state, "id");
    take_state(recording, state);
    if (!is_id(id))
        return sn_fail(err, SONDE_E_FORMAT, 0, "the controller did not say which recording it is");
    (void)snprintf(recording->id, sizeof(recording->id), "%.39s", id);
    return SONDE_OK;
}

/* An answer that a signal cut off is asked for once more, by the next look. */
static int look(struct sn_remote_recording *recording, struct sonde_error *err)
{
    char path[PATH_SIZE];
    json_t *state = NULL;
    struct sonde_error cause = {0};
    put_path(recording, "", path);
    int rc = sn_remote_ask(recording->remote, "GET", path, NULL, &state, &cause);
    if (rc == SONDE_OK)
        take_state(recording, state);
    else if (!sn_signals_pending(recording->signals))
        return sn_fail_as(err, &cause);
    return SONDE_OK;
}

static int stop(struct sn_remote_recording *recording, struct sonde_error *err)
{
    char path[PATH_SIZE];
    json_t *body = json_pack("{s:b}", "enabled", 0);
    put_path(recording, "", path);
    int rc = sn_remote_ask(recording->remote, "PATCH", path, body, NULL, err);
    json_decref(body);
    return rc;
}

static bool is_over(const struct sn_remote_recording *recording)
{
    static const char *const ends[] = {"Succeeded", "Failed", "Cancelled"};
    const char *state = sn_remote_text(recording->state, "state");
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (strcasecmp(ends[i], state) == 0)
            return true;
    }
    return false;
}

/* One that runs cannot be deleted. */
static void forget(struct sn_remote_recording *recording)
{
    char path[PATH_SIZE];
    struct sonde_error err = {0};
    put_path(recording, "", path);
    (void)sn_signals_drain(recording->signals);
    int rc = is_over(recording) ? SONDE_OK : stop(recording, &err);
    for (unsigned i = 0; rc == SONDE_OK && i < LOOKS_AT_END && !is_over(recording); i++) {
        struct pollfd polled = {.fd = recording->signals, .events = POLLIN};
        if (poll(&polled, 1, LOOK_MS) > 0)
            break;
        rc = look(recording, &err);
    }
    (void)sn_remote_ask(recording->remote, "DELETE", path, NULL, NULL, NULL);
}

/* --- while it runs --- */

static uint64_t ns_of(const json_t *object, const char *name)
{
    double seconds = sn_remote_real(object, name);
    return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
}

static void show_live(const struct sn_remote_recording *recording)
{
    const json_t *progress = json_object_get(recording->state, "progress");
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(4096);
    char text[4][32];
    sn_buf_format(&line, "  %s   %s events   %s lost   %s   %s",
                  sn_text_duration(ns_of(progress, "durationSeconds"), text[0]),
                  sn_text_count(sn_remote_u64(progress, "events"), text[1]),
                  sn_text_count(sn_remote_u64(progress, "lost"), text[2]),
                  sn_text_bytes(sn_remote_u64(progress, "bytes"), text[3]),
                  recording->stop_count ? "stopping (Ctrl-C again to give it up)"
                                        : "Enter or Ctrl-C stops");
    sn_terminal_live(stderr, sn_buf_string(&line));
}

static void read_key(struct sn_remote_recording *recording)
{
    char keys[64];
    ssize_t got = read(STDIN_FILENO, keys, sizeof(keys));
    if (got <= 0)
        recording->reads_keys = false;
    else if (!recording->stop_count && memchr(keys, '\n', (size_t)got))
        recording->stop_count = 1;
}

static void rest(struct sn_remote_recording *recording)
{
    struct pollfd polled[] = {{.fd = recording->signals, .events = POLLIN},
                              {.fd = recording->reads_keys ? STDIN_FILENO : -1, .events = POLLIN}};
    if (poll(polled, 2, LOOK_MS) > 0 && polled[1].revents)
        read_key(recording);
    mind_signals(recording);
}

static int follow(struct sn_remote_recording *recording, struct sonde_error *err)
{
    bool is_told = false;
    while (!is_over(recording) && recording->stop_count < GIVE_UP_AT) {
        rest(recording);
        int rc = SONDE_OK;
        if (recording->stop_count && !is_told) {
            rc = stop(recording, err);
            is_told = true;
        }
        if (rc == SONDE_OK)
            rc = look(recording, err);
        if (rc != SONDE_OK)
            return rc;
        if (recording->is_live)
            show_live(recording);
    }
    if (recording->is_live)
        sn_terminal_live(stderr, "");
    return SONDE_OK;
}

/* --- the file --- */

static int take_file(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    return sn_out_file_write(user, bytes, size, err);
}

static void name_output(const struct sn_remote_recording *recording, struct sn_buf *to)
{
    const json_t *process = json_object_get(recording->state, "process");
    const char *name = sn_remote_text(process, "name");
    if (recording->output) {
        sn_buf_text(to, recording->output);
        return;
    }
    sn_file_name_safe(to, *name ? name : sn_remote_text(recording->state, "kind"));
    sn_file_name_stamp(to, recording->ending);
}

static int download(struct sn_remote_recording *recording, const char *output, const char *more,
                    uint64_t *ret_bytes, struct sonde_error *err)
{
    static const char *const no_inputs[] = {NULL};
    char path[PATH_SIZE];
    struct sn_out_file file = {.fd = -1};
    put_path(recording, more, path);
    int rc = sn_out_file_open(&file, output, no_inputs, err);
    if (rc == SONDE_OK)
        rc = sn_remote_fetch(recording->remote, path, NULL, take_file, &file, err);
    if (rc == SONDE_OK)
        rc = sn_out_file_finish(&file, err);
    *ret_bytes = file.byte_count;
    sn_out_file_close(&file);
    return rc;
}

static int download_beside(struct sn_remote_recording *recording, const char *kind,
                           const char *output, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(8192);
    struct sonde_error cause = {0};
    char request[48];
    uint64_t bytes;
    sn_buf_format(&path, "%s.%s", output, kind);
    (void)snprintf(request, sizeof(request), "/download?format=%s", kind);
    int rc = download(recording, sn_buf_string(&path), request, &bytes, &cause);
    /* There is none, or the controller is too old to know it: what is here is another trace's. */
    if (rc == SONDE_E_NOT_FOUND || rc == SONDE_E_ARGUMENT) {
        (void)unlink(sn_buf_string(&path));
        return SONDE_OK;
    }
    return rc == SONDE_OK ? rc : sn_fail_as(err, &cause);
}

/* What stands beside a trace that was made here stands beside it then, too: CPU time by thread, and
 * the names of a process that died. */
static int download_all_beside(struct sn_remote_recording *recording, const char *output,
                               struct sonde_error *err)
{
    struct stat status;
    int rc = SONDE_OK;
    if (stat(output, &status) != 0 || !S_ISREG(status.st_mode))
        return SONDE_OK; /* a pipe has nothing beside it */
    if (recording->has_cpu_record)
        rc = download_beside(recording, "cpu", output, err);
    return rc == SONDE_OK ? download_beside(recording, "symbols", output, err) : rc;
}

/* --- the outcome --- */

static void write_outcome(const json_t *state, const char *output, uint64_t bytes)
{
    json_t *outcome = json_deep_copy(state);
    if (!outcome)
        return;
    (void)json_object_set_new(outcome, "file", json_string(output));
    (void)json_object_set_new(outcome, "bytes", json_integer((json_int_t)bytes));
    SN_AUTO(sn_free) char *text = json_dumps(outcome, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (text)
        (void)puts(text);
    json_decref(outcome);
}

/* Same words, same codes as of what is done here. */
static int finish(struct sn_remote_recording *recording, const char *output, uint64_t bytes)
{
    const char *message = sn_remote_text(recording->state, "message");
    bool is_whole = strcasecmp(sn_remote_text(recording->state, "state"), "Succeeded") == 0;
    if (recording->json) {
        write_outcome(recording->state, output, bytes);
    } else if (bytes) {
        sn_terminal_put(stdout, SN_STYLE_BOLD, output);
        (void)putchar('\n');
        (void)fflush(stdout);
    }
    if (!is_whole || *message) {
        (void)fputs("incomplete: ", stderr);
        sn_terminal_put(stderr, SN_STYLE_WARN, *message ? message : "it was given up");
        (void)fputc('\n', stderr);
    }
    recording->tell(recording->state, json_object_get(recording->state, "progress"));
    if (!bytes)
        return SN_EXIT_FAILED;
    return is_whole && !*message ? SN_EXIT_DONE : SN_EXIT_PARTIAL;
}

static int run(struct sn_remote_recording *recording, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf output = sn_buf_with_limit(8192);
    uint64_t bytes = 0;
    int rc = begin(recording, err);
    if (rc != SONDE_OK && recording->is_optional && !recording->stop_count &&
        !sn_signals_pending(recording->signals))
        return -1;
    if (rc == SONDE_OK)
        rc = follow(recording, err);
    if (rc != SONDE_OK)
        return sn_command_fail(err);
    name_output(recording, &output);
    if (sn_remote_u64(recording->state, "fileBytes"))
        rc = download(recording, sn_buf_string(&output), "/download", &bytes, err);
    if (rc == SONDE_OK && bytes && recording->is_trace)
        rc = download_all_beside(recording, sn_buf_string(&output), err);
    if (rc != SONDE_OK)
        return sn_command_fail(err);
    return finish(recording, sn_buf_string(&output), bytes);
}

int sn_remote_recording_run(struct sn_remote_recording *recording)
{
    struct sonde_error err = {0};
    int code = run(recording, &err);
    if (recording->id[0])
        forget(recording);
    take_state(recording, NULL);
    return code;
}

/* --- last lines --- */

void sn_remote_tell_trace(const json_t *recording, const json_t *progress)
{
    const json_t *cost = json_object_get(progress, "cost");
    const json_t *process = json_object_get(recording, "process");
    char text[5][32];
    (void)fprintf(stderr, "pid %" PRIu64 " (.NET ", sn_remote_u64(process, "pid"));
    sn_terminal_put(stderr, SN_STYLE_NONE, sn_remote_text(progress, "runtime"));
    (void)fprintf(stderr, "): %s, %s events, %s lost, %s; ",
                  sn_text_duration(ns_of(progress, "durationSeconds"), text[0]),
                  sn_text_count(sn_remote_u64(progress, "events"), text[1]),
                  sn_text_count(sn_remote_u64(progress, "lost"), text[2]),
                  sn_text_bytes(sn_remote_u64(progress, "bytes"), text[3]));
    (void)fprintf(stderr, "the target spent %s of its %s CPU writing events out\n",
                  sn_text_duration(ns_of(cost, "tracingCpuSeconds"), text[3]),
                  sn_text_duration(ns_of(cost, "targetCpuSeconds"), text[4]));
}

void sn_remote_tell_record(const json_t *recording, const json_t *progress)
{
    char text[3][32];
    (void)recording;
    (void)fprintf(stderr, "%s: %s CPU samples, %s runtime events; ",
                  sn_text_duration(ns_of(progress, "durationSeconds"), text[0]),
                  sn_text_count(sn_remote_u64(progress, "samples"), text[1]),
                  sn_text_count(sn_remote_u64(progress, "runtimeEvents"), text[2]));
    (void)fprintf(stderr, "%" PRIu64 " processes, %" PRIu64 " of them .NET; %s lost; ",
                  sn_remote_u64(progress, "processes"), sn_remote_u64(progress, "runtimes"),
                  sn_text_count(sn_remote_u64(progress, "lost"), text[0]));
    (void)fprintf(
        stderr, "the controller ran %s for it\n",
        sn_text_duration(ns_of(json_object_get(progress, "cost"), "ownCpuSeconds"), text[1]));
}
