#include "daemon/recording_reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/operation_kinds.h"
#include "daemon/operation_table.h"
#include "daemon/recording_names.h"
#include "daemon/rest_call.h"
#include "daemon/roads.h"
#include "daemon/workers.h"

#define READINGS_MAX 64u
#define BYTES_MAX    (128u << 20) /* in all of them, but for the newest */
#define EVERY_NS     (2 * (uint64_t)SN_NS_PER_SECOND)
#define FIRST_NS     (5 * (uint64_t)SN_NS_PER_SECOND) /* patience for a first result */
#define AGAIN_NS     (200 * (uint64_t)SN_NS_PER_MS)
#define REST_FACTOR  4u /* it rests so many times as long as reading took */
#define AT_ONCE_MAX  4u /* half of the workers: others have work for them, too */

struct sn_reading {
    struct sn_reading *next;
    struct sn_reading_subject of;
    void *result; /* the newest; NULL */
    int status;   /* of the last one */
    struct sonde_error err;
    uint64_t made_ns;
    uint64_t read_ns; /* that began then */
    uint64_t next_ns; /* not to be read again before */
    uint64_t used_ns;
    uint64_t first_ns; /* who asks waits until then for something to show */
    uint64_t again_ns; /* those who wait have it read again then; 0: they wait for a worker */
    bool has_ended;    /* it was read when the recording had ended */
    bool is_final;     /* and will never say anything else */
    bool is_busy;
    uint64_t due_ns;              /* since then it waits for its turn; 0 */
    struct sn_rest_call *waiting; /* parked; by their `next` */
};

/* In a worker. */
struct work {
    struct sn_mailbox_task task; /* to the worker and back */
    struct sn_daemon *daemon;
    struct sn_reading *reading;   /* borrows; busy until this is back */
    struct sn_artefact *artefact; /* owns a reference */
    struct sn_reading_subject of;
    void *before; /* owns a reference */
    void *result;
    bool has_ended;
    char path[4096];
    char names[4096];
    int status;
    struct sonde_error err;
    uint64_t start_ns;
};

/* --- the answer --- */

/* True: the call goes on; false: it has its problem. */
static bool answer(struct sn_rest_call *call, const struct sn_reading *reading)
{
    const struct sn_reading_kind *kind = reading->of.kind;
    bool is_wrong = reading->status == SONDE_E_ARGUMENT && !reading->result;
    bool is_empty = reading->status < 0 && reading->has_ended && kind->is_empty &&
                    kind->is_empty(&reading->of, &reading->err);
    if (reading->status < 0 && (reading->has_ended || is_wrong) && !is_empty) {
        sn_rest_failed(call, &reading->err);
        return false;
    }
    return kind->answer(call, &reading->of, is_empty ? NULL : reading->result, reading->has_ended);
}

static void refuse(struct sn_rest_call *call)
{
    sn_rest_header(call, "Retry-After", "2");
    sn_rest_problem(call, 503, "too much is under way: try again later");
}

static void answer_all(struct sn_reading *reading)
{
    struct sn_rest_call *call = SN_TAKE(reading->waiting);
    while (call) {
        struct sn_rest_call *next = call->next;
        call->next = NULL;
        if (!answer(call, reading))
            sn_rest_finish(call);
        call = next;
    }
}

/* It cannot be read now: with what there is, or why there is nothing. `operation` NULL: it was
 * deleted. */
static void give_up(struct sn_reading *reading, const struct sn_operation *operation)
{
    struct sn_rest_call *call = reading->result ? NULL : SN_TAKE(reading->waiting);
    if (reading->result)
        answer_all(reading);
    while (call) {
        struct sn_rest_call *next = call->next;
        call->next = NULL;
        if (operation)
            refuse(call);
        else
            sn_rest_problem(call, 404, "the recording was deleted");
        sn_rest_finish(call);
        call = next;
    }
}

/* --- work --- */

static void free_work(struct work *work)
{
    const struct sn_reading_kind *kind = work->of.kind;
    sn_artefact_release(work->artefact);
    if (work->before)
        kind->release(work->before);
    if (work->result)
        kind->release(work->result);
    free(work);
}

/* Names were not there yet when it was read, and soon are. */
static bool is_unnamed(const struct sn_reading *reading, const struct sn_operation *operation)
{
    return operation &&
           (sn_recording_names_are_coming(operation) || operation->names_ns > reading->read_ns);
}

/* Nothing can be shown yet, or nothing with names: those who ask wait a little longer. */
static bool is_too_early(const struct sn_reading *reading, const struct sn_operation *operation)
{
    if (reading->has_ended || sn_clock_monotonic_ns() >= reading->first_ns)
        return false;
    if (reading->result)
        return is_unnamed(reading, operation);
    return reading->status != SONDE_E_ARGUMENT &&
           (reading->of.is_patient || reading->status != SONDE_E_NOT_FOUND);
}

/* No memory, or a disk that fails, may be better the next time. */
static bool is_settled(int status)
{
    return status >= 0 || status == SONDE_E_NOT_FOUND || status == SONDE_E_FORMAT ||
           status == SONDE_E_ARGUMENT;
}

static void start_next(struct sn_operations *operations);
static bool make_room(struct sn_operations *operations, const struct sn_reading *newest);

/* Back in the roads thread. */
static void has_read(void *user)
{
    struct work *work = user;
    struct sn_reading *reading = work->reading;
    struct sn_operations *operations = work->daemon->operations;
    struct sn_operation *operation = sn_operation_find(work->daemon, work->of.id);
    uint64_t now = sn_clock_monotonic_ns();
    uint64_t rest_ns = (now - work->start_ns) * REST_FACTOR;
    operations->reading_count--;
    reading->is_busy = false;
    reading->status = work->status;
    reading->err = work->err;
    reading->has_ended = work->has_ended;
    reading->is_final = work->has_ended && is_settled(work->status);
    reading->made_ns = now;
    reading->read_ns = work->start_ns;
    reading->next_ns = now + (rest_ns > EVERY_NS ? rest_ns : EVERY_NS);
    if (work->result) {
        if (reading->result)
            reading->of.kind->release(reading->result);
        reading->result = SN_TAKE(work->result);
    }
    if (operation && reading->result) /* there is something to name */
        sn_recording_names_want(operation);
    reading->again_ns = is_too_early(reading, operation) ? now + AGAIN_NS : 0;
    free_work(work);
    if (!reading->again_ns)
        answer_all(reading);
    (void)make_room(operations, reading);
    start_next(operations);
}

/* In a worker. */
static void read_it(void *user)
{
    struct work *work = user;
    const struct sn_reading_order order = {
        .of = &work->of, .path = work->path, .names = work->names, .before = work->before};
    work->status = work->of.kind->read(&order, &work->result, &work->err);
    sn_roads_post(work->daemon->roads, &work->task, has_read, work);
}

/* While it records, a recording of the machine is a journal: its archive's name without .zip. */
static void set_paths(struct work *work, const struct sn_operation *operation)
{
    struct stat status;
    const char *path = sn_artefact_path(operation->artefact);
    sn_text_copy(work->path, sizeof(work->path), path);
    (void)snprintf(work->names, sizeof(work->names), "%s.names", path);
    size_t size = strlen(work->path);
    if (operation->kind == &sn_record_operation && !work->has_ended && size > 4 &&
        stat(path, &status) != 0)
        work->path[size - 4] = 0;
}

/* At once, or when those that are being read leave a worker for it. */
static bool start(struct sn_reading *reading, struct sn_operation *operation)
{
    struct sn_operations *operations = operation->daemon->operations;
    if (operations->reading_count >= AT_ONCE_MAX) {
        reading->due_ns = sn_clock_monotonic_ns();
        return true;
    }
    struct work *work = calloc(1, sizeof(*work));
    if (!work)
        return false;
    work->daemon = operation->daemon;
    work->reading = reading;
    work->artefact = sn_artefact_hold(operation->artefact);
    work->of = reading->of;
    work->before = reading->result ? reading->of.kind->hold(reading->result) : NULL;
    work->has_ended = !sn_operation_is_active(operation);
    work->start_ns = sn_clock_monotonic_ns();
    set_paths(work, operation);
    reading->is_busy = sn_workers_offer(operation->daemon->workers, &work->task, read_it, work);
    if (reading->is_busy)
        operations->reading_count++;
    else
        free_work(work);
    return reading->is_busy;
}

/* The one that waits for longest; not those that nobody waits for any more. */
static void start_next(struct sn_operations *operations)
{
    while (operations->reading_count < AT_ONCE_MAX) {
        struct sn_reading *first = NULL;
        for (struct sn_reading *one = operations->readings; one; one = one->next) {
            if (!one->waiting)
                one->due_ns = 0;
            else if (one->due_ns && (!first || one->due_ns < first->due_ns))
                first = one;
        }
        if (!first)
            return;
        struct sn_operation *operation = sn_operation_find(operations->daemon, first->of.id);
        first->due_ns = 0;
        if (!operation || !start(first, operation))
            give_up(first, operation);
    }
}

/* --- the table --- */

static void free_reading(struct sn_reading *reading)
{
    if (reading->result)
        reading->of.kind->release(reading->result);
    free(reading);
}

void sn_readings_done(struct sn_operations *operations)
{
    while (operations->readings) {
        struct sn_reading *reading = operations->readings;
        operations->readings = reading->next;
        free_reading(reading);
    }
}

void sn_readings_forget(struct sn_operations *operations, const char *id)
{
    struct sn_reading **at = &operations->readings;
    while (*at) {
        struct sn_reading *reading = *at;
        if (strcmp(reading->of.id, id) != 0 || reading->is_busy || reading->waiting) {
            at = &reading->next;
            continue;
        }
        *at = reading->next;
        free_reading(reading);
    }
}

static bool is_crowded(const struct sn_operations *operations, size_t count_max)
{
    size_t count = 0;
    size_t bytes = 0;
    for (const struct sn_reading *one = operations->readings; one; one = one->next) {
        count++;
        bytes += one->result ? one->of.kind->bytes(one->result) : 0;
    }
    return count > count_max || bytes >= BYTES_MAX;
}

/* Those that were not used for longest make room, but not the newest; NULL: for another one.
 * False: all others are being read. */
static bool make_room(struct sn_operations *operations, const struct sn_reading *newest)
{
    while (is_crowded(operations, newest ? READINGS_MAX : READINGS_MAX - 1)) {
        struct sn_reading **oldest = NULL;
        for (struct sn_reading **at = &operations->readings; *at; at = &(*at)->next) {
            if (*at != newest && !(*at)->is_busy && !(*at)->waiting &&
                (!oldest || (*at)->used_ns < (*oldest)->used_ns))
                oldest = at;
        }
        if (!oldest)
            return false;
        struct sn_reading *reading = *oldest;
        *oldest = reading->next;
        free_reading(reading);
    }
    return true;
}

static bool is_same(const struct sn_reading_subject *a, const struct sn_reading_subject *b)
{
    return a->kind == b->kind && strcmp(a->id, b->id) == 0 && a->view == b->view &&
           a->nodes_max == b->nodes_max && a->with_lines == b->with_lines &&
           a->from_ns == b->from_ns && a->to_ns == b->to_ns &&
           strcmp(a->process, b->process) == 0 && strcmp(a->sections, b->sections) == 0;
}

static struct sn_reading *find(struct sn_operations *operations,
                               const struct sn_reading_subject *wanted)
{
    struct sn_reading *reading = operations->readings;
    while (reading && !is_same(&reading->of, wanted))
        reading = reading->next;
    if (!reading) {
        reading = make_room(operations, NULL) ? calloc(1, sizeof(*reading)) : NULL;
        if (!reading)
            return NULL;
        reading->of = *wanted;
        reading->first_ns = sn_clock_deadline(FIRST_NS);
        reading->next = operations->readings;
        operations->readings = reading;
    }
    reading->used_ns = sn_clock_monotonic_ns();
    return reading;
}

/* --- a first result, as soon as there is one --- */

uint64_t sn_readings_next_ns(const struct sn_operations *operations)
{
    uint64_t next_ns = UINT64_MAX;
    for (const struct sn_reading *one = operations->readings; one; one = one->next) {
        if (one->again_ns && one->again_ns < next_ns)
            next_ns = one->again_ns;
    }
    return next_ns;
}

static void try_again(struct sn_reading *reading, struct sn_operation *operation, uint64_t now_ns)
{
    bool is_coming = operation && sn_recording_names_are_coming(operation);
    if (reading->waiting && is_coming && now_ns < reading->first_ns) {
        reading->again_ns = now_ns + AGAIN_NS;
        return;
    }
    reading->again_ns = 0;
    if (!reading->waiting || (operation && start(reading, operation)))
        return;
    give_up(reading, operation);
}

void sn_readings_turn(struct sn_operations *operations, uint64_t now_ns)
{
    for (struct sn_reading *one = operations->readings; one; one = one->next) {
        if (one->again_ns && one->again_ns <= now_ns)
            try_again(one, sn_operation_find(operations->daemon, one->of.id), now_ns);
    }
}

/* --- requests --- */

/* Who has left waits no more. */
static void client_left(struct sn_rest_call *call)
{
    struct sn_reading *reading = call->user;
    struct sn_rest_call **at = &reading->waiting;
    while (*at && *at != call)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = call->next;
    call->next = NULL;
    sn_rest_finish(call);
}

static void wait_for(struct sn_rest_call *call, struct sn_reading *reading)
{
    call->next = reading->waiting;
    reading->waiting = call;
    sn_rest_park(call, client_left, reading);
}

/* Names that came since are a reason to read again. */
static bool is_fresh(const struct sn_reading *reading, const struct sn_operation *operation)
{
    if (reading->is_final)
        return true;
    if (reading->has_ended) /* it failed: not at once again */
        return sn_clock_monotonic_ns() < reading->next_ns;
    return sn_operation_is_active(operation) && reading->made_ns &&
           sn_clock_monotonic_ns() < reading->next_ns && operation->names_ns <= reading->read_ns;
}

bool sn_reading_subject_fill(struct sn_rest_call *call, struct sn_reading_subject *subject)
{
    subject->from_ns = sn_rest_seconds_ns(call, "from", 0);
    subject->to_ns = sn_rest_seconds_ns(call, "to", 0);
    sn_text_copy(subject->process, sizeof(subject->process), sn_rest_text(call, "process"));
    if (!sn_rest_text(call, "to") || subject->to_ns > subject->from_ns)
        return true;
    sn_rest_invalid(call, "to", "'to' is not after 'from'");
    return false;
}

void sn_reading_ask(struct sn_rest_call *call, struct sn_operation *operation,
                    const struct sn_reading_subject *subject)
{
    if (operation->state == SN_OPERATION_CONFIGURED) {
        sn_rest_problem(call, 409, "it is %s and has no data yet",
                        sn_operation_state_name(operation->state));
        return;
    }
    struct sn_reading_subject of = *subject;
    memcpy(of.id, operation->id, sizeof(of.id));
    struct sn_reading *reading = find(call->daemon->operations, &of);
    if (!reading) {
        sn_rest_header(call, "Retry-After", "2");
        sn_rest_problem(call, 429, "%u views of recordings are being read: try again later",
                        READINGS_MAX);
        return;
    }
    if (operation->is_live || reading->result)
        sn_recording_names_want(operation);
    bool is_coming = reading->is_busy || reading->again_ns || reading->due_ns;
    if (!is_coming && is_fresh(reading, operation))
        (void)answer(call, reading);
    else if (is_coming || start(reading, operation))
        wait_for(call, reading);
    else
        refuse(call);
}
