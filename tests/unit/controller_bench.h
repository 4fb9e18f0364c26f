/* A controller on a bench: all its real parts, small ceilings, a folder of its own; the test is its
 * HTTP thread. Requests come over real sockets. */
#ifndef SN_TEST_CONTROLLER_BENCH_H
#define SN_TEST_CONTROLLER_BENCH_H

#include "http_client.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/file.h"
#include "daemon/daemon.h"
#include "daemon/daemon_parts.h"
#include "daemon/roads.h"
#include "daemon/router.h"
#include "daemon/store_desk.h"
#include "daemon/topic.h"
#include "daemon/workers.h"
#include "own_folder.h"

#define CONTROLLER_ANSWER_MAX (256u << 10)

struct controller {
    char folder[OWN_FOLDER_SIZE];
    struct sn_serve_options options;
    struct sn_daemon daemon;
    uint16_t port;
    char answer[CONTROLLER_ANSWER_MAX];
};

/* What differs from this is set in `options` before. */
static inline struct controller *controller_new(void)
{
    struct controller *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    own_folder_make(bench->folder, "bench");
    bench->options.state_folder = bench->folder;
    bench->options.access.state_folder = bench->folder;
    bench->options.access.anonymous = SN_SCOPE_SECRETS;
    bench->options.access.prefix = "";
    bench->options.prefix = "";
    bench->options.interval_ns = SN_NS_PER_SECOND;
    bench->options.no_counters = true;
    bench->options.no_store = true;
    bench->options.worker_max = 1;
    bench->options.waiting_max = 1;
    bench->daemon.options = &bench->options;
    return bench;
}

static inline void controller_start(struct controller *bench)
{
    struct sonde_error err = {0};
    const char *url = ":0";
    const struct sn_http_place place = {.address = "127.0.0.1:0"};
    int rc = sn_daemon_parts_new(&bench->daemon, &err);
    if (rc == SONDE_OK)
        rc = sn_http_server_listen(bench->daemon.http, &place, &url, &err);
    if (rc == SONDE_OK)
        rc = sn_daemon_parts_start(&bench->daemon, &err);
    if (rc != SONDE_OK)
        fail_msg("%s", err.text);
    bench->port = (uint16_t)strtoul(strrchr(url, ':') + 1, NULL, 10);
}

/* Ends it; its folder stays for another life. */
static inline void controller_stop(struct controller *bench)
{
    sn_daemon_parts_free(&bench->daemon);
    bench->daemon = (struct sn_daemon){.options = &bench->options};
}

static inline void controller_free(struct controller *bench)
{
    controller_stop(bench);
    own_folder_remove(bench->folder);
    free(bench);
}

/* --- requests --- */

/* One that closes behind its answer. */
static inline int controller_ask(struct controller *bench, const char *method, const char *path)
{
    char head[512];
    int client = http_connect(bench->port);
    (void)snprintf(head, sizeof(head),
                   "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", method, path);
    http_say(client, head);
    return client;
}

/* Its whole answer, in `answer`. */
static inline unsigned controller_read(struct controller *bench, int client)
{
    http_read_answer(bench->daemon.http, client, NULL, bench->answer, sizeof(bench->answer));
    (void)close(client);
    if (strncmp(bench->answer, "HTTP/1.1 ", 9) != 0)
        return 0;
    return (unsigned)strtoul(bench->answer + 9, NULL, 10);
}

static inline unsigned controller_get(struct controller *bench, const char *path)
{
    return controller_read(bench, controller_ask(bench, "GET", path));
}

/* A trace of tests/golden/nettrace as a recording. */
static inline void controller_upload(struct controller *bench, const char *name, char ret_id[37])
{
    char head[256];
    char path[512];
    struct sonde_error err = {0};
    SN_AUTO(sn_buf_done) struct sn_buf file = sn_buf_with_limit(1u << 20);
    (void)snprintf(path, sizeof(path), SONDE_SOURCE_DIR "/tests/golden/nettrace/%s", name);
    if (sn_file_read_at(AT_FDCWD, path, &file, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    int client = http_connect(bench->port);
    (void)snprintf(head, sizeof(head),
                   "POST /api/v1/recordings/upload?name=%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                   "Connection: close\r\nContent-Length: %zu\r\n\r\n",
                   name, file.size);
    http_say(client, head);
    http_say_bytes(client, (const char *)file.bytes, file.size);
    assert_int_equal(controller_read(bench, client), 201);
    const char *id = strstr(bench->answer, "\"id\":\"");
    assert_non_null(id);
    (void)snprintf(ret_id, 37, "%s", id + strlen("\"id\":\""));
}

/* Turns its HTTP thread until that is so. */
#define controller_until(bench, condition)                                \
    do {                                                                  \
        uint64_t until_ns_ = sn_clock_deadline(60ull * SN_NS_PER_SECOND); \
        while (!(condition)) {                                            \
            (void)http_turn((bench)->daemon.http, -1, 10);                \
            assert_true(sn_clock_monotonic_ns() < until_ns_);             \
        }                                                                 \
    } while (0)

/* --- threads that stand still --- */

struct controller_hold {
    struct sn_mailbox_task task;
    sem_t is_there;
    sem_t may_go;
    sem_t has_gone;
};

static inline void controller_wait(sem_t *sem)
{
    while (sem_wait(sem) != 0)
        continue;
}

static inline void controller_stand(void *user)
{
    struct controller_hold *hold = user;
    (void)sem_post(&hold->is_there);
    controller_wait(&hold->may_go);
    (void)sem_post(&hold->has_gone);
}

static inline void controller_hold_init(struct controller_hold *hold)
{
    *hold = (struct controller_hold){0};
    assert_int_equal(sem_init(&hold->is_there, 0, 0), 0);
    assert_int_equal(sem_init(&hold->may_go, 0, 0), 0);
    assert_int_equal(sem_init(&hold->has_gone, 0, 0), 0);
}

/* They stand when these return, until they are let go. */
static inline void controller_hold_roads(struct controller *bench, struct controller_hold *hold)
{
    controller_hold_init(hold);
    sn_roads_post(bench->daemon.roads, &hold->task, controller_stand, hold);
    controller_wait(&hold->is_there);
}

static inline void controller_hold_store(struct controller *bench, struct controller_hold *hold)
{
    controller_hold_init(hold);
    sn_store_desk_post(bench->daemon.store, &hold->task, controller_stand, hold);
    controller_wait(&hold->is_there);
}

static inline void controller_hold_worker(struct controller *bench, struct controller_hold *hold)
{
    controller_hold_init(hold);
    assert_true(sn_workers_offer(bench->daemon.workers, &hold->task, controller_stand, hold));
    controller_wait(&hold->is_there);
}

static inline void controller_let_go(struct controller_hold *hold)
{
    (void)sem_post(&hold->may_go);
}

static inline void controller_pass(void *user)
{
    (void)user;
}

/* --- in the roads thread --- */

struct controller_errand {
    struct sn_mailbox_task task;
    void (*run)(void *user);
    void *user;
    sem_t is_done;
};

static inline void controller_run_errand(void *user)
{
    struct controller_errand *errand = user;
    errand->run(errand->user);
    (void)sem_post(&errand->is_done);
}

/* Runs it there and waits until it is done. */
static inline void controller_on_roads(struct controller *bench, void (*run)(void *user),
                                       void *user)
{
    struct controller_errand errand = {.run = run, .user = user};
    assert_int_equal(sem_init(&errand.is_done, 0, 0), 0);
    sn_roads_post(bench->daemon.roads, &errand.task, controller_run_errand, &errand);
    controller_wait(&errand.is_done);
    (void)sem_destroy(&errand.is_done);
}

#endif
