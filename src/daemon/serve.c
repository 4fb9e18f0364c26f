#include "daemon/serve.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/access.h"
#include "daemon/daemon.h"
#include "daemon/daemon_parts.h"
#include "daemon/exception_history.h"
#include "daemon/exposure.h"
#include "daemon/link_routes.h"
#include "daemon/operation.h"
#include "daemon/roads.h"
#include "daemon/route.h"
#include "daemon/router.h"
#include "daemon/start_pages.h"
#include "daemon/state_folder.h"
#include "daemon/state_topics.h"
#include "daemon/store_desk.h"
#include "daemon/topic.h"
#include "net/http_server.h"

#define GOOD_BYE_NS      (20ull * SN_NS_PER_SECOND)
#define INTERVAL_NS      SN_NS_PER_SECOND
#define STORE_PATIENCE_S 10
#define MONITOR_RATE     (5ull * SN_NS_PER_SECOND)

struct farewell {
    struct sn_mailbox_task task; /* to the roads and back */
    struct sn_daemon *daemon;
    bool is_over; /* the HTTP thread's */
};

/* What must be known before the first question: see await_store. */
struct opening {
    struct sn_mailbox_task task; /* to the store */
    sem_t is_told;
    bool has_sem;
};

struct serving {
    struct sn_serve_options options; /* with the defaults filled in */
    struct sn_daemon daemon;
    struct sn_exposure exposure;
    const char *urls[SN_PLACES_MAX]; /* borrow from the server */
    struct farewell farewell;
    struct opening opening;
    int lock_fd; /* of the state folder; -1 */
};

/* --- the beginning --- */

static bool is_resource(const char *name)
{
    for (const struct sn_route *const *table = sn_route_tables; *table; table++) {
        for (const struct sn_route *route = *table; route->method; route++) {
            if (strcmp(route->resource, name) == 0)
                return true;
        }
    }
    return false;
}

/* Each once, in the order of the tables. */
static void list_resources(struct sn_buf *to)
{
    const char *before = "";
    for (const struct sn_route *const *table = sn_route_tables; *table; table++) {
        for (const struct sn_route *route = *table; route->method; route++) {
            bool is_there = strstr(sn_buf_string(to), route->resource) != NULL;
            if (strcmp(route->resource, before) != 0 && !is_there)
                sn_buf_format(to, "%s%s", to->size ? ", " : "", route->resource);
            before = route->resource;
        }
    }
}

/* A name that is nobody's would leave open what somebody wanted closed. */
static int check_disabled(const struct sn_serve_options *options, struct sonde_error *err)
{
    for (size_t i = 0; i < options->disabled_count; i++) {
        if (is_resource(options->disabled[i]))
            continue;
        SN_AUTO(sn_buf_done) struct sn_buf names = sn_buf_with_limit(1024);
        list_resources(&names);
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--disable: '%.40s' is none of %s",
                       options->disabled[i], sn_buf_string(&names));
    }
    return SONDE_OK;
}

/* Before the threads that fill the store: who is refused a place must not have touched anything. */
static int listen_everywhere(struct serving *serving, struct sonde_error *err)
{
    struct sn_daemon *daemon = &serving->daemon;
    int rc = SONDE_OK;
    for (size_t i = 0; i < serving->options.place_count && rc == SONDE_OK; i++) {
        const struct sn_http_place *place = &serving->options.places[i];
        rc = sn_http_server_listen(daemon->http, place, &serving->urls[i], err);
        if (rc == SONDE_OK && place->address) {
            const char *authority = strstr(serving->urls[i], "://");
            rc = sn_access_allow_host(daemon->access, authority ? authority + 3 : "", err);
            if (place->tag == SN_PLACE_API && !daemon->browser_url)
                daemon->browser_url = serving->urls[i];
        }
    }
    return rc;
}

static int say_ready(struct serving *serving, struct sonde_error *err)
{
    char link[SN_LINK_SIZE];
    const struct sn_serve_options *options = &serving->options;
    if (options->certified && serving->exposure.certificate.chain) {
        char fingerprint[65];
        int failed = sn_certificate_fingerprint(&serving->exposure.certificate, fingerprint, err);
        if (failed)
            return failed;
        options->certified(options->user, fingerprint);
    }
    sn_exposure_note(options, serving->urls, &serving->exposure);
    int rc = sn_link_new(&serving->daemon, NULL, link, err);
    if (rc == SONDE_OK && options->ready)
        options->ready(options->user, serving->urls, options->place_count, link);
    return rc;
}

static void has_told(void *user)
{
    (void)sem_post(&((struct opening *)user)->is_told);
}

/* The recordings of earlier lives are on their way to the roads before anybody asks for one there:
 * the store's thread does things in their order, and so do the roads. */
static void await_store(struct serving *serving)
{
    struct opening *opening = &serving->opening;
    struct timespec until;
    if (!serving->daemon.store || sem_init(&opening->is_told, 0, 0) != 0)
        return;
    opening->has_sem = true;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STORE_PATIENCE_S;
    sn_store_desk_post(serving->daemon.store, &opening->task, has_told, opening);
    while (sem_timedwait(&opening->is_told, &until) != 0 && errno == EINTR) {
    }
}

/* --- serving --- */

/* One round of the HTTP thread; *ret_ends when it is told to end. */
static int turn(struct serving *serving, bool *ret_ends, struct sonde_error *err)
{
    struct sn_daemon *daemon = &serving->daemon;
    struct pollfd polled[] = {{.fd = sn_http_server_fd(daemon->http), .events = POLLIN},
                              {.fd = serving->options.signals, .events = POLLIN}};
    int wait_ms =
        sn_clock_sooner_ms(sn_http_server_wait_ms(daemon->http), sn_topics_wait_ms(daemon->topics));
    wait_ms = sn_clock_sooner_ms(wait_ms, sn_state_topics_wait_ms(daemon->state_topics));
    int ready = poll(polled, 2, wait_ms);
    if (ready < 0 && errno != EINTR)
        return sn_fail_errno(err, "cannot wait for requests");
    if (ready > 0 && polled[1].revents)
        *ret_ends = true;
    sn_topics_turn(daemon->topics);
    sn_state_topics_turn(daemon->state_topics);
    return sn_http_server_turn(daemon->http, err);
}

static int serve(struct serving *serving, struct sonde_error *err)
{
    bool ends = false;
    int rc = SONDE_OK;
    while (rc == SONDE_OK && !ends)
        rc = turn(serving, &ends, err);
    return rc;
}

/* --- the end --- */

/* In the HTTP thread: nothing runs any more. */
static void has_ended(void *user)
{
    *(bool *)user = true;
}

static void tell_ended(void *user)
{
    struct farewell *farewell = user;
    sn_http_server_post(farewell->daemon->http, &farewell->task, has_ended, &farewell->is_over);
}

static void end_operations(void *user)
{
    struct farewell *farewell = user;
    sn_operations_end(farewell->daemon, tell_ended, farewell);
}

/* What runs is stopped well, and who follows it gets the rest of it, for as long as that may take.
 */
static void say_farewell(struct serving *serving)
{
    struct sn_daemon *daemon = &serving->daemon;
    struct farewell *farewell = &serving->farewell;
    uint64_t deadline_ns = sn_clock_deadline(GOOD_BYE_NS);
    farewell->daemon = daemon;
    sn_router_close(daemon->router);
    if (!daemon->roads || !daemon->operations)
        return;
    sn_roads_post(daemon->roads, &farewell->task, end_operations, farewell);
    while ((!farewell->is_over || daemon->file_reader_count) &&
           sn_clock_monotonic_ns() < deadline_ns) {
        struct pollfd polled = {.fd = sn_http_server_fd(daemon->http), .events = POLLIN};
        (void)poll(&polled, 1,
                   sn_clock_sooner_ms(sn_http_server_wait_ms(daemon->http),
                                      sn_clock_poll_ms(deadline_ns)));
        if (sn_http_server_turn(daemon->http, NULL) != SONDE_OK)
            return;
    }
}

static bool has_address(const struct sn_serve_options *options)
{
    for (size_t i = 0; i < options->place_count; i++) {
        if (options->places[i].address)
            return true;
    }
    return false;
}

/* Who keeps no history and serves its own user only needs no folder: a read-only one is fine. */
static bool is_stateless(const struct sn_serve_options *options)
{
    return options->no_store && options->state_folder && !has_address(options) &&
           !sn_state_folder_is_usable(options->state_folder);
}

static int lock_state(struct serving *serving, struct sonde_error *err)
{
    const struct sn_serve_options *options = &serving->options;
    return !options->state_folder || options->is_stateless
               ? SONDE_OK
               : sn_state_folder_lock(options->state_folder, &serving->lock_fd, err);
}

static void fill_in(struct sn_serve_options *options)
{
    if (!options->interval_ns)
        options->interval_ns = options->is_dotnet_monitor ? MONITOR_RATE : INTERVAL_NS;
    if (!options->prefix)
        options->prefix = "";
    options->access.prefix = options->prefix;
    options->is_stateless = is_stateless(options);
    options->access.state_folder = options->is_stateless ? NULL : options->state_folder;
}

int sn_serve(const struct sn_serve_options *options, struct sonde_error *err)
{
    struct serving serving = {.options = *options, .lock_fd = -1};
    struct sn_daemon *daemon = &serving.daemon;
    fill_in(&serving.options);
    daemon->options = &serving.options;
    daemon->urls = serving.urls;
    daemon->exposure = &serving.exposure;
    daemon->start_ns = sn_clock_monotonic_ns();
    int rc = check_disabled(&serving.options, err);
    if (rc == SONDE_OK)
        rc = sn_exposure_open(&serving.options, &serving.exposure, err);
    if (rc == SONDE_OK)
        rc = sn_daemon_parts_new(daemon, err);
    if (rc == SONDE_OK)
        rc = listen_everywhere(&serving, err);
    if (rc == SONDE_OK)
        rc = lock_state(&serving, err);
    if (rc == SONDE_OK)
        rc = sn_daemon_parts_start(daemon, err);
    if (rc == SONDE_OK)
        rc = sn_exception_history_start(daemon, err);
    if (rc == SONDE_OK) {
        await_store(&serving);
        rc = say_ready(&serving, err);
    }
    sn_start_pages_drop();
    if (rc == SONDE_OK) {
        rc = serve(&serving, err);
        say_farewell(&serving); /* what runs is ended well in any case */
    }
    sn_daemon_parts_free(daemon);
    if (serving.opening.has_sem)
        (void)sem_destroy(&serving.opening.is_told);
    sn_exposure_done(&serving.exposure);
    sn_close(serving.lock_fd);
    return rc;
}
