#include "daemon/export_desk.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "daemon/daemon.h"
#include "daemon/roads.h"
#include "sink/export/export_run.h"

#define TELL_NS SN_NS_PER_SECOND

/* One receiver as others see it: copied, as its own words live until the next turn. */
struct shown {
    char kind[32];
    char title[96];
    char place[SN_EXPORT_PLACE_SIZE];
    char note[512];   /* what is not as asked for; "" */
    char failed[384]; /* the whole run cannot go on; "" */
    bool has_sender;
    struct sn_sender_state state;
    uint64_t number_count;
    uint64_t asked_count;
    uint64_t asked_utc_ns;
};

struct run {
    struct sn_export_desk *desk;
    struct sn_export_run *run; /* owns */
    size_t first;              /* of its receivers */
    uint64_t tell_ns;          /* when they are to be looked at */
    struct sonde_error failed;
};

struct sn_export_desk {
    struct sn_roads *roads; /* borrows */
    struct run *runs;       /* owns; the roads thread's */
    size_t run_count;
    pthread_mutex_t lock; /* of what follows */
    struct shown *shown;  /* owns */
    size_t shown_count;
};

/* --- in the roads thread --- */

static void show(const struct run *run, size_t index, struct shown *to)
{
    struct sn_export_receiver receiver;
    struct sn_export_tally tally;
    sn_export_run_receiver(run->run, index, &receiver);
    sn_export_run_tally(run->run, &tally);
    *to = (struct shown){.has_sender = receiver.has_sender,
                         .state = receiver.state,
                         .number_count = receiver.number_count,
                         .asked_count = receiver.asked_count,
                         .asked_utc_ns = receiver.asked_utc_ns};
    (void)snprintf(to->kind, sizeof(to->kind), "%s", receiver.settings->kind->name);
    (void)sn_settings_title(receiver.settings, to->title);
    (void)snprintf(to->place, sizeof(to->place), "%s", receiver.place);
    (void)snprintf(to->note, sizeof(to->note), "%s", tally.note);
    (void)snprintf(to->failed, sizeof(to->failed), "%s", run->failed.text);
}

static void tell(struct run *run)
{
    struct sn_export_desk *desk = run->desk;
    size_t count = sn_export_run_receiver_count(run->run);
    run->tell_ns = sn_clock_deadline(TELL_NS);
    for (size_t i = 0; i < count; i++) {
        struct shown shown;
        show(run, i, &shown);
        (void)pthread_mutex_lock(&desk->lock);
        desk->shown[run->first + i] = shown;
        (void)pthread_mutex_unlock(&desk->lock);
    }
}

static int get_fd(void *user)
{
    return sn_export_run_fd(((const struct run *)user)->run);
}

static int get_wait_ms(void *user)
{
    return sn_export_run_wait_ms(((const struct run *)user)->run);
}

static void turn(void *user)
{
    struct run *run = user;
    if (sn_export_run_turn(run->run, &run->failed) < 0) {
        sn_roads_remove(run->desk->roads, run); /* the others go on */
        tell(run);
    } else if (sn_clock_monotonic_ns() >= run->tell_ns)
        tell(run);
}

/* --- life --- */

static const struct sn_rider_ops riding = {.fd = get_fd, .wait_ms = get_wait_ms, .turn = turn};

static int open_runs(struct sn_export_desk *desk, const struct sn_serve_options *options,
                     struct sonde_hub *hub, struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (size_t i = 0; i < options->export_count && rc == SONDE_OK; i++) {
        struct run *run = &desk->runs[i];
        struct sonde_error cause = {0};
        run->desk = desk;
        run->first = desk->shown_count;
        if (sn_export_run_join(options->exports[i], hub, &run->run, &cause) != SONDE_OK)
            return sn_fail_because(err, &cause, "--export");
        desk->run_count++;
        desk->shown_count += sn_export_run_receiver_count(run->run);
        rc = sn_roads_add(desk->roads, &riding, run, err);
    }
    return rc;
}

int sn_export_desk_new(struct sn_daemon *daemon, struct sn_roads *roads, struct sonde_hub *hub,
                       struct sn_export_desk **ret_desk, struct sonde_error *err)
{
    const struct sn_serve_options *options = daemon->options;
    *ret_desk = NULL;
    if (!options->export_count)
        return SONDE_OK;
    struct sn_export_desk *desk = calloc(1, sizeof(*desk));
    if (!desk)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for exporters");
    desk->roads = roads;
    (void)pthread_mutex_init(&desk->lock, NULL);
    desk->runs = calloc(options->export_count, sizeof(*desk->runs));
    int rc = desk->runs ? open_runs(desk, options, hub, err)
                        : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for exporters");
    desk->shown = calloc(desk->shown_count + 1, sizeof(*desk->shown));
    if (rc == SONDE_OK && !desk->shown)
        rc = sn_fail(err, SONDE_E_NOMEM, 0, "no memory for exporters");
    for (size_t i = 0; desk->runs && i < desk->run_count && rc == SONDE_OK; i++)
        tell(&desk->runs[i]);
    if (rc == SONDE_OK)
        *ret_desk = desk;
    else
        sn_export_desk_free(desk);
    return rc;
}

void sn_export_desk_free(struct sn_export_desk *desk)
{
    if (!desk)
        return;
    for (size_t i = 0; desk->runs && i < desk->run_count; i++) {
        sn_export_run_finish(desk->runs[i].run);
        sn_export_run_free(desk->runs[i].run);
    }
    free(desk->runs);
    free(desk->shown);
    (void)pthread_mutex_destroy(&desk->lock);
    free(desk);
}

/* --- for who asks --- */

static void put_time(struct sn_json *json, const char *name, uint64_t utc_ns)
{
    char text[32];
    sn_json_text(json, name, utc_ns ? sn_clock_rfc3339(utc_ns, text) : NULL);
}

static const char *state_of(const struct shown *shown)
{
    if (shown->failed[0])
        return "failed";
    if (!shown->has_sender)
        return shown->asked_count ? "ok" : "waiting";
    if (shown->state.reason[0] || shown->state.has_refused)
        return "failing";
    return shown->state.sent_count ? "ok" : "waiting";
}

static void put(struct sn_json *json, const struct shown *shown)
{
    const struct sn_sender_state *state = &shown->state;
    sn_json_object(json, NULL);
    sn_json_text(json, "kind", shown->kind);
    sn_json_text(json, "name", shown->title);
    sn_json_text(json, "destination", shown->place);
    sn_json_bool(json, "isAsked", !shown->has_sender);
    sn_json_text(json, "state", state_of(shown));
    sn_json_u64(json, "numbers", shown->number_count);
    sn_json_u64(json, "sent", shown->has_sender ? state->sent_count : shown->asked_count);
    sn_json_u64(json, "sentBytes", state->sent_bytes);
    sn_json_u64(json, "failed", state->retry_count);
    sn_json_u64(json, "dropped", state->dropped_items);
    sn_json_u64(json, "queuedBytes", state->queued_bytes);
    put_time(json, "lastSuccess", shown->has_sender ? state->sent_utc_ns : shown->asked_utc_ns);
    sn_json_text(json, "lastError", shown->failed[0] ? shown->failed : state->reason);
    sn_json_text(json, "note", shown->note);
    sn_json_close(json);
}

void sn_export_desk_write(struct sn_export_desk *desk, struct sn_json *json)
{
    for (size_t i = 0; desk && i < desk->shown_count; i++) {
        (void)pthread_mutex_lock(&desk->lock);
        struct shown shown = desk->shown[i];
        (void)pthread_mutex_unlock(&desk->lock);
        put(json, &shown);
    }
}

bool sn_export_desk_place(struct sn_export_desk *desk, size_t index, char to[SN_EXPORT_PLACE_SIZE])
{
    if (!desk || index >= desk->shown_count)
        return false;
    (void)pthread_mutex_lock(&desk->lock);
    const struct shown *shown = &desk->shown[index];
    (void)snprintf(to, SN_EXPORT_PLACE_SIZE, "%s", shown->has_sender ? "" : shown->place);
    (void)pthread_mutex_unlock(&desk->lock);
    return true;
}
