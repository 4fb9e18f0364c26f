#include "daemon/operation_table.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/egress.h"
#include "daemon/recording_reading.h"
#include "daemon/recording_store.h"
#include "daemon/recordings.h"
#include "daemon/roads.h"
#include "daemon/spool.h"
#include "daemon/store_desk.h"
#include "daemon/topic.h"

#define QUOTA_STANDARD  (2ull << 30) /* as the store has it */
#define ARTEFACT_MAX    (1ull << 30) /* that nobody has read yet */
#define LOOK_EVERY_NS   (500 * (uint64_t)SN_NS_PER_MS)
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
    operations->look_ns = UINT64_MAX;
    operations->idle_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = check_egress(daemon->options, err);
    if (rc == SONDE_OK &&
        (operations->spool =
             sn_spool_path(daemon->options->state_folder, daemon->options->is_stateless)) == NULL)
        rc = sn_fail(err, SONDE_E_NOMEM, 0, "no memory for operations");
    if (rc == SONDE_OK && operations->idle_fd < 0)
        rc = sn_fail_errno(err, "cannot make a descriptor");
    if (rc == SONDE_OK && sn_spool_open(operations->spool, err) != SONDE_OK)
        rc = daemon->options->is_stateless ? SONDE_OK
                                           : err->status; /* who asks for a file is told */
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
    sn_readings_done(operations);
    if (operations->topic)
        sn_topic_close(operations->topic);
    sn_close(operations->idle_fd);
    if (operations->daemon->options->is_stateless && operations->spool)
        (void)rmdir(operations->spool);
    free(operations->spool);
    free(operations);
}

/* --- time --- */

static bool is_quiet(const struct sn_operations *operations)
{
    const struct sn_operation *one = operations->first;
    while (one && !sn_operation_is_active(one))
        one = one->next;
    return !one;
}

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
    if (operations->look_ns < next_ns)
        next_ns = operations->look_ns;
    for (const struct sn_operation *one = operations->first; one; one = one->next) {
        if (one->is_unkept && operations->keep_ns < next_ns)
            next_ns = operations->keep_ns;
        if (one->deadline_ns < next_ns)
            next_ns = one->deadline_ns;
        if (one->lease_end_ns < next_ns)
            next_ns = one->lease_end_ns;
    }
    uint64_t reading_ns = sn_readings_next_ns(operations);
    next_ns = reading_ns < next_ns ? reading_ns : next_ns;
    return sn_clock_poll_ms(next_ns);
}

/* --- room --- */

uint64_t sn_operation_quota(const struct sn_daemon *daemon)
{
    struct sn_store_numbers numbers;
    (void)sn_store_desk_numbers(daemon->store, &numbers); /* limits change while it runs */
    if (numbers.bytes_max)
        return numbers.bytes_max;
    return daemon->options->store_bytes_max ? daemon->options->store_bytes_max : QUOTA_STANDARD;
}

static uint64_t held_by(const struct sn_operation *operation)
{
    return operation->artefact ? sn_artefact_held(operation->artefact) : 0;
}

/* What is live goes before what was meant to be kept. */
static bool is_larger(const struct sn_operation *one, const struct sn_operation *other)
{
    if (!other || one->is_live != other->is_live)
        return !other || one->is_live;
    return held_by(one) > held_by(other);
}

/* Of those that run, recordings or not, the one that holds most; and what they hold together. */
static struct sn_operation *find_largest(struct sn_operations *operations, bool is_recording,
                                         uint64_t *ret_sum)
{
    struct sn_operation *largest = NULL;
    *ret_sum = 0;
    for (struct sn_operation *one = operations->first; one; one = one->next) {
        if (one->is_recording != is_recording || one->cause || !sn_operation_is_active(one))
            continue;
        *ret_sum += held_by(one);
        if (is_larger(one, largest))
            largest = one;
    }
    return largest;
}

/* Recordings end with what they have; what is made for a reader has failed without the rest. */
static void mind_room(struct sn_operations *operations)
{
    uint64_t sum;
    uint64_t quota = sn_operation_quota(operations->daemon);
    bool is_full = sn_spool_is_full(operations->spool);
    struct sn_operation *largest = find_largest(operations, true, &sum);
    if (largest && (is_full || sum >= quota))
        sn_operation_cut(largest, is_full ? "the disk is full: it ended with what it has"
                                          : "the quota was reached: it ended with what it has");
    largest = find_largest(operations, false, &sum);
    if (largest && is_full)
        sn_operation_doom(largest, "the disk is full");
    else if (largest && !largest->kind->is_whole &&
             (held_by(largest) >= ARTEFACT_MAX || sn_spool_bytes(operations->spool) >= quota))
        sn_operation_doom(largest, "its reader is too slow");
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

/* Nobody has asked for it any more. One that is live goes; its file with it when it has ended. */
static void lease_over(struct sn_operation *operation)
{
    struct sonde_error err = {0};
    if (operation->is_live && !sn_operation_is_active(operation)) {
        (void)sn_operation_delete(operation, &err);
        return;
    }
    operation->lease_end_ns = UINT64_MAX;
    if (operation->is_live)
        sn_operation_cancel(operation);
    else
        sn_operation_cut(operation, "nobody asked for it any more: its lease ended");
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
    unsigned kept_count = 0;
    bool is_time_to_keep = operations->keep_ns <= now;
    struct sn_operation *next;
    for (struct sn_operation *one = operations->first; one; one = next) {
        next = one->next;
        kept_count += one->is_recording && !one->is_live;
        if (one->is_unkept && is_time_to_keep)
            sn_recordings_keep(one);
        if (one->deadline_ns <= now)
            overdue(one, now);
        if (one->lease_end_ns <= now)
            lease_over(one);
    }
    if (is_time_to_keep)
        operations->keep_ns = now + LOOK_EVERY_NS;
    atomic_store(&operations->kept_count, kept_count);
    if (is_quiet(operations)) {
        operations->look_ns = UINT64_MAX;
    } else if (operations->look_ns <= now || operations->look_ns == UINT64_MAX) {
        mind_room(operations);
        operations->look_ns = now + LOOK_EVERY_NS;
    }
    sn_readings_turn(operations, now);
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
        if (one->is_live)
            lease_over(one);
        else if (one->egress[0])
            sn_operation_cancel(one);
        else
            sn_operation_stop(one); /* who reads it gets a file that is whole */
    }
    if (is_quiet(operations))
        say_ended(operations);
}
