/* Stacks for people: threads in the same place together, the most first, or one by one; the
 * innermost frame at the top. Names come from the process and are shown as a terminal may show
 * them. */
#include "convert/stacks_formats.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"

#define LABEL_LIMIT  65536u
#define STATE_LIMIT  1024u
#define REPEATS_MIN  5u /* of one frame, to be shown once */
#define THREADS_SHOW 8u /* of a group, by name; the rest by their number */

/* "waiting in futex, not moved for 12 s"; "" when nothing is known. */
static void tell_state(struct sn_buf *to, const struct sonde_stack_thread *thread)
{
    char still[32];
    size_t before = to->size;
    sn_buf_text(to, sn_stacks_doing(thread));
    if (thread->doing == SONDE_THREAD_WAITING && thread->syscall[0])
        sn_buf_format(to, " in %s", thread->syscall);
    if (thread->still_ns)
        sn_buf_format(to, "%snot moved for %s", to->size > before ? ", " : "",
                      sn_text_duration(thread->still_ns, still));
}

/* False: they differ, and each is to tell its own. */
static bool share_state(const struct sn_stacks_view *view, const struct sonde_stack_group *group,
                        struct sn_buf *to)
{
    SN_AUTO(sn_buf_done) struct sn_buf other = sn_buf_with_limit(STATE_LIMIT);
    tell_state(to, &view->threads[group->threads[0]]);
    for (size_t i = 1; i < group->thread_count; i++) {
        sn_buf_clear(&other);
        tell_state(&other, &view->threads[group->threads[i]]);
        if (strcmp(sn_buf_string(&other), sn_buf_string(to)) != 0)
            return false;
    }
    return true;
}

/* "main (4711, managed 1, running)" */
static void put_member(struct sn_stream *stream, const struct sn_stacks_view *view, uint32_t index,
                       bool with_state)
{
    const struct sonde_stack_thread *thread = &view->threads[index];
    SN_AUTO(sn_buf_done) struct sn_buf label = sn_buf_with_limit(LABEL_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf more = sn_buf_with_limit(STATE_LIMIT);
    if (thread->managed_id)
        sn_buf_format(&more, "managed %" PRIu32, thread->managed_id);
    if (with_state) {
        sn_buf_text(&more, more.size ? ", " : "");
        tell_state(&more, thread);
    }
    sn_stacks_thread_label(&label, view, thread);
    struct sn_buf_view shown = sn_buf_view(&label);
    bool has_bracket = shown.size && shown.text[shown.size - 1] == ')';
    sn_text_printable(&stream->buf, shown.text, shown.size - (more.size && has_bracket ? 1 : 0));
    if (!more.size)
        return;
    sn_buf_text(&stream->buf, has_bracket ? ", " : " (");
    sn_stacks_put(stream, sn_buf_string(&more));
    sn_buf_u8(&stream->buf, ')');
}

static void write_members(struct sn_stream *stream, const struct sn_stacks_view *view,
                          const struct sonde_stack_group *group)
{
    SN_AUTO(sn_buf_done) struct sn_buf state = sn_buf_with_limit(STATE_LIMIT);
    bool is_shared = share_state(view, group, &state);
    sn_buf_format(&stream->buf, "\n%zu thread%s", group->thread_count,
                  group->thread_count == 1 ? "" : "s");
    if (is_shared && state.size) {
        sn_buf_text(&stream->buf, ", ");
        sn_stacks_put(stream, sn_buf_string(&state));
    }
    sn_buf_text(&stream->buf, ": ");
    for (size_t i = 0; i < group->thread_count && i < THREADS_SHOW; i++) {
        sn_buf_text(&stream->buf, i ? ", " : "");
        put_member(stream, view, group->threads[i], !is_shared);
    }
    if (group->thread_count > THREADS_SHOW)
        sn_buf_format(&stream->buf, " and %zu more", group->thread_count - THREADS_SHOW);
    sn_buf_u8(&stream->buf, '\n');
}

/* --- what is to be known of single ones --- */

static bool has_text(const char *text)
{
    return text && text[0];
}

static bool has_note(const struct sn_stacks_view *view, const struct sonde_stack_thread *thread)
{
    return has_text(thread->exception) ||
           (thread->waits_for && thread->waits_for <= view->lock_count);
}

static void write_note(struct sn_stream *stream, const struct sn_stacks_view *view, uint32_t index)
{
    const struct sonde_stack_thread *thread = &view->threads[index];
    sn_buf_text(&stream->buf, "  * ");
    sn_stacks_put_label(stream, view, index);
    if (has_text(thread->exception)) {
        sn_buf_text(&stream->buf, " has in flight ");
        sn_stacks_put(stream, thread->exception);
    }
    if (has_text(thread->exception) && has_text(thread->message)) {
        SN_AUTO(sn_buf_done) struct sn_buf message = sn_buf_with_limit(LABEL_LIMIT);
        sn_stacks_message(&message, thread);
        sn_buf_text(&stream->buf, ": ");
        sn_stacks_put(stream, sn_buf_string(&message));
    }
    if (thread->waits_for && thread->waits_for <= view->lock_count) {
        sn_buf_text(&stream->buf, has_text(thread->exception) ? "; it " : " ");
        sn_stacks_put_wait(stream, view, thread);
    }
    sn_buf_u8(&stream->buf, '\n');
    sn_stream_settle(stream);
}

static void write_notes(struct sn_stream *stream, const struct sn_stacks_view *view,
                        const struct sonde_stack_group *group)
{
    size_t count = 0;
    for (size_t i = 0; i < group->thread_count; i++) {
        if (has_note(view, &view->threads[group->threads[i]]) && count++ < THREADS_SHOW)
            write_note(stream, view, group->threads[i]);
    }
    if (count > THREADS_SHOW)
        sn_buf_format(&stream->buf, "  * and %zu more\n", count - THREADS_SHOW);
}

/* --- stacks --- */

static bool is_same(const struct sonde_stack_frame *one, const struct sonde_stack_frame *other)
{
    return one->line == other->line && one->kind == other->kind &&
           strcmp(one->name, other->name) == 0 && strcmp(one->module, other->module) == 0 &&
           strcmp(one->file, other->file) == 0;
}

/* A method that calls itself is shown once, with how often: who looks for an endless recursion sees
 * what is around it. */
static void write_frames(struct sn_stream *stream, const struct sonde_stack_frame *frames,
                         size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && is_same(&frames[i], &frames[end]))
            end++;
        size_t shown = end - i < REPEATS_MIN ? end - i : 1;
        for (size_t j = 0; j < shown; j++)
            sn_stacks_put_frame(stream, &frames[i]);
        if (shown < end - i)
            sn_buf_format(&stream->buf, "    ... the same %zu times more\n", end - i - shown);
        i = end;
    }
}

static void write_group(struct sn_stream *stream, const struct sn_stacks_view *view,
                        const struct sonde_stack_group *group)
{
    const struct sonde_stack_thread *first = &view->threads[group->threads[0]];
    write_members(stream, view, group);
    write_notes(stream, view, group);
    write_frames(stream, first->frames, first->frame_count);
    if (!first->frame_count)
        sn_buf_text(&stream->buf, first->doing == SONDE_THREAD_RUNNING
                                      ? "    [it runs, and was not held to look at its frames]\n"
                                      : "    [no frames]\n");
}

static bool has_kind(const struct sn_stacks_view *view, int kind)
{
    for (size_t i = 0; i < view->group_count; i++) {
        const struct sonde_stack_thread *first = &view->threads[view->groups[i].threads[0]];
        for (size_t j = 0; j < first->frame_count; j++) {
            if (first->frames[j].kind == kind && first->frames[j].module[0])
                return true;
        }
    }
    return false;
}

static void write_rest(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    if (has_kind(view, SONDE_FRAME_NATIVE) || has_kind(view, SONDE_FRAME_KERNEL))
        sn_buf_text(&stream->buf, "\n~ is native code, k is the kernel\n");
    sn_stacks_write_tail(stream, view);
}

void sn_stacks_text_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    sn_stacks_write_head(stream, view);
    for (size_t i = 0; i < view->group_count; i++)
        write_group(stream, view, &view->groups[i]);
    write_rest(stream, view);
}

void sn_stacks_threads_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    sn_stacks_write_head(stream, view);
    for (uint32_t i = 0; i < view->thread_count; i++) {
        const struct sonde_stack_group alone = {.threads = &i, .thread_count = 1};
        write_group(stream, view, &alone);
    }
    write_rest(stream, view);
}
