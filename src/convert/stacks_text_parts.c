/* What texts about stacks have in common: the head line, deadlocks as sentences, locks, async
 * methods that wait, the thread pool, and remarks. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"
#include "convert/stacks_formats.h"

#define LABEL_LIMIT  65536u
#define CIRCLE_SHOW  64u  /* threads of a deadlock */
#define CIRCLES_SHOW 16u  /* deadlocks */
#define LOCKS_SHOW   100u /* in a list */
#define WAITERS_SHOW 8u
#define TASKS_SHOW   100u
#define CHAIN_SHOW   24u /* methods of a chain */

void sn_stacks_put(struct sn_stream *stream, const char *text)
{
    sn_text_printable(&stream->buf, text, strlen(text));
}

void sn_stacks_put_label(struct sn_stream *stream, const struct sn_stacks_view *view,
                         uint32_t thread)
{
    SN_AUTO(sn_buf_done) struct sn_buf label = sn_buf_with_limit(LABEL_LIMIT);
    sn_stacks_thread_label(&label, view, &view->threads[thread]);
    sn_stacks_put(stream, sn_buf_string(&label));
}

static void put_place(struct sn_stream *stream, const struct sonde_stack_frame *frame)
{
    if (frame->module[0]) {
        sn_buf_text(&stream->buf, "  [");
        sn_stacks_put(stream, frame->module);
        sn_buf_u8(&stream->buf, ']');
    }
    if (frame->file[0]) {
        sn_buf_text(&stream->buf, "  ");
        sn_stacks_put(stream, frame->file);
        if (frame->line)
            sn_buf_format(&stream->buf, ":%" PRIu32, frame->line);
    }
}

/* Code without a name is mostly a stub of the runtime's: what is marked has a library. */
static const char *mark_of(const struct sonde_stack_frame *frame)
{
    if (frame->kind == SONDE_FRAME_KERNEL)
        return "  k ";
    return frame->kind == SONDE_FRAME_NATIVE && frame->module[0] ? "  ~ " : "    ";
}

void sn_stacks_put_frame(struct sn_stream *stream, const struct sonde_stack_frame *frame)
{
    sn_buf_text(&stream->buf, mark_of(frame));
    sn_stacks_put(stream, frame->name);
    put_place(stream, frame);
    sn_buf_u8(&stream->buf, '\n');
    sn_stream_settle(stream);
}

/* --- locks --- */

static bool is_constructor(const struct sonde_stack_lock *lock)
{
    return strcmp(lock->kind, "static constructor") == 0;
}

static void put_lock(struct sn_stream *stream, const struct sonde_stack_lock *lock)
{
    if (is_constructor(lock)) {
        sn_buf_text(&stream->buf, "the static constructor of ");
        sn_stacks_put(stream, lock->type_name[0] ? lock->type_name : "a type");
        return;
    }
    if (strcmp(lock->kind, "monitor") == 0) {
        sn_buf_text(&stream->buf, "the monitor of ");
        sn_stacks_put(stream, lock->type_name[0] ? lock->type_name : "an object");
    } else {
        sn_buf_text(&stream->buf, "the ");
        sn_stacks_put(stream, lock->kind);
    }
    sn_buf_format(&stream->buf, " at 0x%" PRIx64, lock->object);
}

static void put_owner(struct sn_stream *stream, const struct sn_stacks_view *view,
                      const struct sonde_stack_lock *lock)
{
    const char *verb = is_constructor(lock) ? "run" : "held";
    if (lock->owner && lock->owner <= view->thread_count) {
        sn_buf_format(&stream->buf, "%s by ", verb);
        sn_stacks_put_label(stream, view, lock->owner - 1);
    } else if (lock->owner_id) {
        sn_buf_format(&stream->buf, "%s by thread %" PRIu64, verb, lock->owner_id);
    } else {
        sn_buf_text(&stream->buf, "held by nobody that is known");
    }
}

void sn_stacks_put_wait(struct sn_stream *stream, const struct sn_stacks_view *view,
                        const struct sonde_stack_thread *thread)
{
    const struct sonde_stack_lock *lock = &view->locks[thread->waits_for - 1];
    sn_buf_text(&stream->buf, "waits for ");
    put_lock(stream, lock);
    sn_buf_text(&stream->buf, ", ");
    put_owner(stream, view, lock);
}

/* "A waits for the monitor of X, held by B, which waits for the monitor of Y, held by A" */
static void write_circle(struct sn_stream *stream, const struct sn_stacks_view *view,
                         uint32_t number)
{
    uint32_t circle[CIRCLE_SHOW];
    size_t count = sn_stacks_deadlock(view, number, circle, CIRCLE_SHOW);
    sn_buf_text(&stream->buf, "deadlock: ");
    if (!count)
        sn_buf_text(&stream->buf, "a circle of locks that is too long to show, or has changed");
    for (size_t i = 0; i < count; i++) {
        if (i)
            sn_buf_text(&stream->buf, ", which ");
        else
            sn_stacks_put_label(stream, view, circle[0]);
        sn_buf_text(&stream->buf, i ? "" : " ");
        sn_stacks_put_wait(stream, view, &view->threads[circle[i]]);
    }
    sn_buf_u8(&stream->buf, '\n');
}

static void write_circles(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    uint32_t count = sn_stacks_deadlock_count(view);
    for (uint32_t i = 1; i <= count && i <= CIRCLES_SHOW; i++)
        write_circle(stream, view, i);
    if (count > CIRCLES_SHOW)
        sn_buf_format(&stream->buf, "and %" PRIu32 " more deadlocks\n", count - CIRCLES_SHOW);
}

static void write_waiters(struct sn_stream *stream, const struct sn_stacks_view *view,
                          const struct sonde_stack_lock *lock)
{
    if (!lock->waiter_count)
        return;
    sn_buf_format(&stream->buf, "; %" PRIu32 " wait%s: ", lock->waiter_count,
                  lock->waiter_count == 1 ? "s" : "");
    for (uint32_t i = 0; i < lock->waiter_count && i < WAITERS_SHOW; i++) {
        sn_buf_text(&stream->buf, i ? ", " : "");
        if (lock->waiters[i] < view->thread_count)
            sn_stacks_put_label(stream, view, lock->waiters[i]);
    }
    if (lock->waiter_count > WAITERS_SHOW)
        sn_buf_format(&stream->buf, " and %" PRIu32 " more", lock->waiter_count - WAITERS_SHOW);
}

static void write_lock(struct sn_stream *stream, const struct sn_stacks_view *view,
                       const struct sonde_stack_lock *lock)
{
    sn_buf_text(&stream->buf, "    ");
    put_lock(stream, lock);
    sn_buf_text(&stream->buf, ": ");
    put_owner(stream, view, lock);
    if (lock->depth > 1)
        sn_buf_format(&stream->buf, ", %" PRIu32 " times", lock->depth);
    write_waiters(stream, view, lock);
    sn_buf_text(&stream->buf, lock->deadlock ? "; part of a deadlock\n" : "\n");
    sn_stream_settle(stream);
}

static void write_locks(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    if (!view->lock_count)
        return;
    sn_buf_format(&stream->buf, "\n%zu lock%s held or waited for:\n", view->lock_count,
                  view->lock_count == 1 ? " is" : "s are");
    for (size_t i = 0; i < view->lock_count && i < LOCKS_SHOW; i++)
        write_lock(stream, view, &view->locks[i]);
    if (view->lock_count > LOCKS_SHOW)
        sn_buf_format(&stream->buf, "    and %zu more\n", view->lock_count - LOCKS_SHOW);
}

/* --- async methods that wait --- */

static void put_step(struct sn_stream *stream, const struct sonde_stack_frame *frame)
{
    sn_stacks_put(stream, frame->name);
    if (frame->file[0] && frame->line) {
        const char *slash = strrchr(frame->file, '/');
        sn_buf_text(&stream->buf, " (");
        sn_stacks_put(stream, slash ? slash + 1 : frame->file);
        sn_buf_format(&stream->buf, ":%" PRIu32 ")", frame->line);
    }
}

static void write_task(struct sn_stream *stream, const struct sn_stacks_view *view,
                       const struct sonde_stack_task *task)
{
    sn_buf_format(&stream->buf, "    %" PRIu64 " x waiting at ", task->count);
    for (size_t i = 0; i < task->frame_count && i < CHAIN_SHOW; i++) {
        sn_buf_text(&stream->buf, i ? " ← " : "");
        put_step(stream, &task->frames[i]);
    }
    if (!task->frame_count)
        sn_buf_text(&stream->buf, "[unknown code]");
    if (task->frame_count > CHAIN_SHOW)
        sn_buf_format(&stream->buf, " ← %zu more", task->frame_count - CHAIN_SHOW);
    if (task->is_circle) {
        sn_buf_text(&stream->buf, ", for each other: none will go on");
    } else if (task->waits_on[0]) {
        sn_buf_text(&stream->buf, ", for ");
        sn_stacks_put(stream, task->waits_on);
    }
    if (task->is_ready)
        sn_buf_text(&stream->buf, ", which has completed: it waits for a thread");
    if (task->blocks && task->blocks <= view->thread_count) {
        sn_buf_text(&stream->buf, "; blocks ");
        sn_stacks_put_label(stream, view, task->blocks - 1);
    }
    sn_buf_u8(&stream->buf, '\n');
    sn_stream_settle(stream);
}

static void write_tasks(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    uint64_t all = 0;
    for (size_t i = 0; i < view->task_count; i++)
        all += view->tasks[i].count;
    if (view->has_tasks && !all)
        sn_buf_text(&stream->buf, "\nNo async method waits.\n");
    if (!all)
        return;
    sn_buf_format(&stream->buf, "\n%" PRIu64 " chain%s of async methods wait%s, on no thread:\n",
                  all, all == 1 ? "" : "s", all == 1 ? "s" : "");
    for (size_t i = 0; i < view->task_count && i < TASKS_SHOW; i++)
        write_task(stream, view, &view->tasks[i]);
    if (view->task_count > TASKS_SHOW)
        sn_buf_format(&stream->buf, "    and %zu other chains\n", view->task_count - TASKS_SHOW);
}

static void write_pool(struct sn_stream *stream, const struct sonde_stack_pool *pool)
{
    if (!pool->is_known)
        return;
    sn_buf_format(&stream->buf,
                  "\nthread pool: %" PRIu32 " worker%s; %" PRIu64 " item%s queued, and %" PRIu64
                  " in queues of workers\n",
                  pool->workers, pool->workers == 1 ? "" : "s", pool->queued,
                  pool->queued == 1 ? "" : "s", pool->queued_local);
}

/* --- all of it --- */

void sn_stacks_write_head(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    char when[32];
    sn_stacks_put(stream, view->name);
    if (view->pid)
        sn_buf_format(&stream->buf, " (%" PRIu32 ")", view->pid);
    sn_buf_format(&stream->buf, " at %s: ", sn_clock_rfc3339(view->utc_ns, when));
    if (!view->thread_count)
        sn_buf_text(&stream->buf, "no thread is in managed code, or was called from there");
    else
        sn_buf_format(&stream->buf, "%zu thread%s in %zu place%s", view->thread_count,
                      view->thread_count == 1 ? "" : "s", view->group_count,
                      view->group_count == 1 ? "" : "s");
    if (view->lost_count)
        sn_buf_format(&stream->buf, "; %zu more are missing", view->lost_count);
    if (view->source && view->source[0]) {
        sn_buf_text(&stream->buf, "; from ");
        sn_stacks_put(stream, view->source);
    }
    sn_buf_u8(&stream->buf, '\n');
    write_circles(stream, view);
}

void sn_stacks_write_tail(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    write_locks(stream, view);
    write_tasks(stream, view);
    write_pool(stream, &view->pool);
    for (size_t i = 0; i < view->remark_count; i++) {
        sn_buf_text(&stream->buf, i ? "note: " : "\nnote: ");
        sn_stacks_put(stream, view->remarks[i]);
        sn_buf_u8(&stream->buf, '\n');
    }
}
