/* Stacks as JSON: places with their frames, the most threads first, and the threads that are there.
 * Described in docs/formats/stacks-json.md. */
#include "convert/stacks_formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/guid_text.h"
#include "base/json.h"
#include "base/own.h"
#include "base/stream.h"

#define MESSAGE_LIMIT 65536u
#define CIRCLE_MAX    256u /* threads of a deadlock */

static bool has_text(const char *text)
{
    return text && text[0];
}

static void write_state(struct sn_json *json, const struct sn_stacks_view *view,
                        const struct sonde_stack_thread *thread)
{
    sn_json_text(json, "doing", sn_stacks_doing(thread));
    if (has_text(thread->syscall))
        sn_json_text(json, "syscall", thread->syscall);
    if (has_text(thread->exception)) {
        sn_json_text(json, "exception", thread->exception);
        SN_AUTO(sn_buf_done) struct sn_buf message = sn_buf_with_limit(MESSAGE_LIMIT);
        sn_stacks_message(&message, thread);
        sn_json_text(json, "message", sn_buf_string(&message));
    }
    if (thread->waits_for && thread->waits_for <= view->lock_count)
        sn_json_u64(json, "waitsFor", thread->waits_for - 1);
    sn_json_bool(json, "pool", thread->is_pool);
    sn_json_bool(json, "background", thread->is_background);
}

/* The port tells who a thread is, and no more. */
static void write_thread(struct sn_json *json, const struct sn_stacks_view *view,
                         const struct sonde_stack_thread *thread)
{
    sn_json_object(json, NULL);
    sn_json_u64(json, "id", thread->thread_id);
    sn_json_text(json, "name", thread->name);
    if (thread->managed_id)
        sn_json_u64(json, "managedId", thread->managed_id);
    if (thread->doing != SONDE_THREAD_UNKNOWN)
        write_state(json, view, thread);
    if (thread->moves)
        sn_json_u64(json, "moves", thread->moves);
    if (thread->moves && view->is_compared) {
        sn_json_bool(json, "moved", !thread->still_ns);
        sn_json_u64(json, "stillNs", thread->still_ns);
    }
    sn_json_close(json);
}

static const char *kind_of(const struct sonde_stack_frame *frame)
{
    switch (frame->kind) {
    case SONDE_FRAME_MANAGED: return "managed";
    case SONDE_FRAME_KERNEL: return "kernel";
    case SONDE_FRAME_RUNTIME: return "runtime";
    default: return "native";
    }
}

static void write_frame(struct sn_json *json, const struct sonde_stack_frame *frame)
{
    static const uint8_t none[sizeof(frame->module_version_id)] = {0};
    char guid[SN_GUID_LENGTH + 1];
    char address[24];
    (void)snprintf(address, sizeof(address), "0x%" PRIx64, frame->address);
    sn_json_object(json, NULL);
    sn_json_text(json, "name", frame->name);
    sn_json_text(json, "kind", kind_of(frame));
    if (frame->kind == SONDE_FRAME_MANAGED && frame->method_name[0]) {
        sn_json_text(json, "type", frame->type_name);
        sn_json_text(json, "method", frame->method_name);
        sn_json_text(json, "signature", frame->signature);
        sn_json_text(json, "module", frame->module);
        if (memcmp(frame->module_version_id, none, sizeof(none)) != 0)
            sn_json_text(json, "moduleVersionId", sn_guid_write(frame->module_version_id, guid));
        sn_json_u64(json, "token", frame->token);
    } else if (frame->module[0]) {
        sn_json_text(json, "module", frame->module);
    }
    sn_json_text(json, "address", address);
    if (frame->file[0])
        sn_json_text(json, "file", frame->file);
    if (frame->line)
        sn_json_u64(json, "line", frame->line);
    sn_json_close(json);
}

static void write_frames(struct sn_stream *stream, struct sn_json *json,
                         const struct sonde_stack_frame *frames, size_t count)
{
    sn_json_array(json, "frames");
    for (size_t i = 0; i < count; i++) {
        write_frame(json, &frames[i]);
        sn_stream_settle(stream);
    }
    sn_json_close(json);
}

static void write_place(struct sn_stream *stream, struct sn_json *json,
                        const struct sn_stacks_view *view, const struct sonde_stack_group *group)
{
    const struct sonde_stack_thread *first = &view->threads[group->threads[0]];
    sn_json_object(json, NULL);
    sn_json_array(json, "threads");
    for (size_t i = 0; i < group->thread_count; i++) {
        write_thread(json, view, &view->threads[group->threads[i]]);
        sn_stream_settle(stream);
    }
    sn_json_close(json);
    write_frames(stream, json, first->frames, first->frame_count);
    sn_json_close(json);
}

/* --- locks --- */

static void write_owner(struct sn_json *json, const struct sn_stacks_view *view,
                        const struct sonde_stack_lock *lock)
{
    bool is_seen = lock->owner && lock->owner <= view->thread_count;
    uint64_t id = is_seen ? view->threads[lock->owner - 1].thread_id : lock->owner_id;
    if (id)
        sn_json_u64(json, "owner", id);
}

static void write_lock(struct sn_stream *stream, struct sn_json *json,
                       const struct sn_stacks_view *view, const struct sonde_stack_lock *lock)
{
    char address[24];
    (void)snprintf(address, sizeof(address), "0x%" PRIx64, lock->object);
    sn_json_object(json, NULL);
    sn_json_text(json, "object", address);
    sn_json_text(json, "type", lock->type_name);
    sn_json_text(json, "kind", lock->kind);
    write_owner(json, view, lock);
    sn_json_u64(json, "depth", lock->depth);
    sn_json_array(json, "waiters");
    for (uint32_t i = 0; i < lock->waiter_count; i++) {
        if (lock->waiters[i] < view->thread_count)
            sn_json_u64(json, NULL, view->threads[lock->waiters[i]].thread_id);
    }
    sn_json_close(json);
    if (lock->deadlock)
        sn_json_u64(json, "deadlock", lock->deadlock);
    sn_json_close(json);
    sn_stream_settle(stream);
}

/* Each of them waits for the lock, which the next one holds. */
static void write_circle(struct sn_json *json, const struct sn_stacks_view *view, uint32_t number)
{
    uint32_t circle[CIRCLE_MAX];
    size_t count = sn_stacks_deadlock(view, number, circle, CIRCLE_MAX);
    sn_json_array(json, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct sonde_stack_thread *thread = &view->threads[circle[i]];
        sn_json_object(json, NULL);
        sn_json_u64(json, "thread", thread->thread_id);
        sn_json_u64(json, "waitsFor", thread->waits_for - 1);
        sn_json_u64(json, "heldBy", view->threads[circle[(i + 1) % count]].thread_id);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_locks(struct sn_stream *stream, struct sn_json *json,
                        const struct sn_stacks_view *view)
{
    if (!view->has_locks)
        return;
    sn_json_array(json, "locks");
    for (size_t i = 0; i < view->lock_count; i++)
        write_lock(stream, json, view, &view->locks[i]);
    sn_json_close(json);
    sn_json_array(json, "deadlocks");
    for (uint32_t i = 1; i <= sn_stacks_deadlock_count(view); i++)
        write_circle(json, view, i);
    sn_json_close(json);
}

/* --- async methods that wait, and the pool --- */

static void write_task(struct sn_stream *stream, struct sn_json *json,
                       const struct sn_stacks_view *view, const struct sonde_stack_task *task)
{
    char address[24];
    (void)snprintf(address, sizeof(address), "0x%" PRIx64, task->object);
    sn_json_object(json, NULL);
    sn_json_u64(json, "count", task->count);
    sn_json_text(json, "object", address);
    sn_json_i64(json, "state", task->state);
    if (has_text(task->waits_on))
        sn_json_text(json, "waitsOn", task->waits_on);
    if (task->blocks && task->blocks <= view->thread_count)
        sn_json_u64(json, "blocks", view->threads[task->blocks - 1].thread_id);
    if (task->is_circle)
        sn_json_bool(json, "circle", true);
    if (task->is_ready)
        sn_json_bool(json, "ready", true);
    write_frames(stream, json, task->frames, task->frame_count);
    sn_json_close(json);
}

static void write_tasks(struct sn_stream *stream, struct sn_json *json,
                        const struct sn_stacks_view *view)
{
    if (!view->has_tasks)
        return;
    sn_json_array(json, "tasks");
    for (size_t i = 0; i < view->task_count; i++)
        write_task(stream, json, view, &view->tasks[i]);
    sn_json_close(json);
}

static void write_pool(struct sn_json *json, const struct sonde_stack_pool *pool)
{
    if (!pool->is_known)
        return;
    sn_json_object(json, "pool");
    sn_json_u64(json, "workers", pool->workers);
    sn_json_u64(json, "queued", pool->queued);
    sn_json_u64(json, "queuedLocal", pool->queued_local);
    if (pool->has_limits) {
        sn_json_u64(json, "working", pool->working);
        sn_json_u64(json, "goal", pool->goal);
        sn_json_u64(json, "min", pool->least);
        sn_json_u64(json, "max", pool->most);
    }
    sn_json_close(json);
}

/* --- all of it --- */

static void write_remarks(struct sn_json *json, const struct sn_stacks_view *view)
{
    sn_json_array(json, "remarks");
    for (size_t i = 0; i < view->remark_count; i++)
        sn_json_text(json, NULL, view->remarks[i]);
    sn_json_close(json);
}

void sn_stacks_json_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    struct sn_json json = sn_json_to(&stream->buf);
    char when[32];
    sn_json_object(&json, NULL);
    sn_json_u64(&json, "pid", view->pid);
    sn_json_text(&json, "process", view->name);
    sn_json_text(&json, "time", sn_clock_rfc3339(view->utc_ns, when));
    sn_json_text(&json, "source", view->source ? view->source : "");
    sn_json_u64(&json, "threads", view->thread_count);
    sn_json_u64(&json, "missing", view->lost_count);
    sn_json_array(&json, "places");
    for (size_t i = 0; i < view->group_count; i++)
        write_place(stream, &json, view, &view->groups[i]);
    sn_json_close(&json);
    write_locks(stream, &json, view);
    write_tasks(stream, &json, view);
    write_pool(&json, &view->pool);
    write_remarks(&json, view);
    sn_json_close(&json);
    sn_buf_u8(&stream->buf, '\n');
}
