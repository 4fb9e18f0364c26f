#include "daemon/operation_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/daemon.h"
#include "daemon/egress.h"
#include "daemon/profile_resource.h"
#include "daemon/recording_store.h"
#include "daemon/recordings.h"
#include "daemon/roads.h"
#include "daemon/spool.h"
#include "daemon/topic.h"

#define END_PATIENCE_NS (15 * (uint64_t)SN_NS_PER_SECOND)

static int check_egress(const struct sn_serve_options *options, struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (size_t i = 0; rc == SONDE_OK && i < options->egress_count; i++)
        rc = sn_egress_check(options->egress[i], err);
    return rc;
}

int sn_operations_new(struct sn_daemon *daemon, struct sn_operations **ret_operations,
                      struct sonde_error *err)
{
    struct sn_operations *operations = calloc(1, sizeof(*operations));
    if (!operations)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for operations");
    (void)umask(077); /* what is recorded is nobody else's, in whatever folder it lies */
    operations->daemon = daemon;
    operations->tell_ns = UINT64_MAX;
    operations->end_ns = UINT64_MAX;
    operations->idle_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = check_egress(daemon->options, err);
    if (rc == SONDE_OK &&
        asprintf(&operations->spool, "%s/spool", daemon->options->state_folder) < 0) {
        operations->spool = NULL;
        rc = sn_fail(err, SONDE_E_NOMEM, 0, "no memory for operations");
    }
    if (rc == SONDE_OK && operations->idle_fd < 0)
        rc = sn_fail_errno(err, "cannot make a descriptor");
    if (rc == SONDE_OK)
        rc = sn_spool_open(operations->spool, err);
    if (rc != SONDE_OK) {
        sn_operations_free(operations);
        return rc;
    }
    *ret_operations = operations;
    sn_recordings_open(daemon, operations);
    return SONDE_OK;
}

void sn_operations_start(struct sn_daemon *daemon)
{
    sn_recording_store_load(daemon);
}

void sn_operations_free(struct sn_operations *operations)
{
    if (!operations)
        return;
    while (operations->first) {
        struct sn_operation *operation = operations->first;
        operations->first = operation->next;
        sn_operation_free(operation);
    }
    sn_profile_resource_done(operations);
    if (operations->topic)
        sn_topic_close(operations->topic);
    sn_close(operations->idle_fd);
    free(operations->spool);
    free(operations);
}

/* --- time --- */

static int rider_fd(void *user)
{
    const struct sn_operations *operations = user;
    return operations->idle_fd;
}

static int rider_wait_ms(void *user)
{
    const struct sn_operations *operations = user;
    uint64_t next_ns =
        operations->end_ns < operations->tell_ns ? operations->end_ns : operations->tell_ns;
    for (const struct sn_operation *one = operations->first; one; one = one->next) {
        if (one->deadline_ns < next_ns)
            next_ns = one->deadline_ns;
    }
    return sn_clock_poll_ms(next_ns);
}

/* Its time is over: it stops, or is told again that it should have. */
static void overdue(struct sn_operation *operation, uint64_t now)
{
    if (operation->state == SN_OPERATION_STOPPING && !operation->is_saving) {
        operation->deadline_ns = now + END_PATIENCE_NS;
        operation->kind->stop(operation);
    } else {
        operation->deadline_ns = UINT64_MAX;
        sn_operation_stop(operation);
    }
}

static void say_ended(struct sn_operations *operations)
{
    void (*ended)(void *user) = SN_TAKE(operations->ended);
    operations->end_ns = UINT64_MAX;
    if (ended)
        ended(operations->user);
}

static void rider_turn(void *user)
{
    struct sn_operations *operations = user;
    uint64_t now = sn_clock_monotonic_ns();
    struct sn_operation *next;
    for (struct sn_operation *one = operations->first; one; one = next) {
        next = one->next;
        if (one->deadline_ns <= now)
            overdue(one, now);
    }
    if (operations->tell_ns <= now)
        operations->tell_ns = sn_recordings_tell(operations->daemon);
    if (operations->end_ns <= now)
        say_ended(operations);
}

static const struct sn_rider_ops rider = {
    .fd = rider_fd, .wait_ms = rider_wait_ms, .turn = rider_turn};

int sn_operation_table_ride(struct sn_operations *operations, struct sonde_error *err)
{
    if (operations->is_riding)
        return SONDE_OK;
    int rc = sn_roads_add(operations->daemon->roads, &rider, operations, err);
    operations->is_riding = rc == SONDE_OK;
    return rc;
}

/* --- the end --- */

static bool is_quiet(const struct sn_operations *operations)
{
    const struct sn_operation *one = operations->first;
    while (one && !sn_operation_is_active(one))
        one = one->next;
    return !one;
}

void sn_operation_table_ended(struct sn_operations *operations)
{
    /* In the next turn: who called this may still want the table as it is. */
    if (operations->is_ending && operations->ended && is_quiet(operations))
        operations->end_ns = 0;
}

void sn_operations_end(struct sn_daemon *daemon, void (*ended)(void *user), void *user)
{
    struct sn_operations *operations = daemon->operations;
    struct sn_operation *next;
    operations->is_ending = true;
    operations->ended = ended;
    operations->user = user;
    operations->end_ns = sn_clock_deadline(END_PATIENCE_NS);
    for (struct sn_operation *one = operations->first; one; one = next) {
        next = one->next;
        if (one->is_recording)
            sn_operation_stop(one);
        else
            sn_operation_cancel(one);
    }
    if (is_quiet(operations))
        say_ended(operations);
}
