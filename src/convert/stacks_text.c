/* Stacks for people: threads in the same place together, the most first, the innermost frame at the
 * top. Names come from the process and are shown as a terminal may show them. */
#include "convert/stacks_formats.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"

#define LABEL_LIMIT  65536u
#define THREADS_SHOW 8u /* of a group, by name; the rest by their number */

static void put(struct sn_stream *stream, const char *text)
{
    sn_text_printable(&stream->buf, text, strlen(text));
}

static void write_head(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    char when[32];
    put(stream, view->name);
    sn_buf_format(&stream->buf, " (%" PRIu32 ") at %s: ", view->pid,
                  sn_clock_rfc3339(view->utc_ns, when));
    if (!view->thread_count)
        sn_buf_text(&stream->buf, "no thread is in managed code, or was called from there");
    else
        sn_buf_format(&stream->buf, "%zu thread%s in %zu place%s", view->thread_count,
                      view->thread_count == 1 ? "" : "s", view->group_count,
                      view->group_count == 1 ? "" : "s");
    if (view->lost_count)
        sn_buf_format(&stream->buf, "; %zu more are missing", view->lost_count);
    sn_buf_u8(&stream->buf, '\n');
}

static void write_members(struct sn_stream *stream, const struct sn_stacks_view *view,
                          const struct sonde_stack_group *group)
{
    SN_AUTO(sn_buf_done) struct sn_buf label = sn_buf_with_limit(LABEL_LIMIT);
    sn_buf_format(&stream->buf, "\n%zu thread%s: ", group->thread_count,
                  group->thread_count == 1 ? "" : "s");
    for (size_t i = 0; i < group->thread_count && i < THREADS_SHOW; i++) {
        sn_buf_clear(&label);
        sn_stacks_thread_label(&label, view, &view->threads[group->threads[i]]);
        sn_buf_text(&stream->buf, i ? ", " : "");
        put(stream, sn_buf_string(&label));
    }
    if (group->thread_count > THREADS_SHOW)
        sn_buf_format(&stream->buf, " and %zu more", group->thread_count - THREADS_SHOW);
    sn_buf_u8(&stream->buf, '\n');
}

static void write_frame(struct sn_stream *stream, const struct sonde_stack_frame *frame)
{
    sn_buf_text(&stream->buf, "    ");
    put(stream, frame->name);
    if (frame->module[0]) {
        sn_buf_text(&stream->buf, "  [");
        put(stream, frame->module);
        sn_buf_u8(&stream->buf, ']');
    }
    if (frame->file[0]) {
        sn_buf_text(&stream->buf, "  ");
        put(stream, frame->file);
        if (frame->line)
            sn_buf_format(&stream->buf, ":%" PRIu32, frame->line);
    }
    sn_buf_u8(&stream->buf, '\n');
    sn_stream_settle(stream);
}

void sn_stacks_text_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    write_head(stream, view);
    for (size_t i = 0; i < view->group_count; i++) {
        const struct sonde_stack_thread *first = &view->threads[view->groups[i].threads[0]];
        write_members(stream, view, &view->groups[i]);
        for (size_t j = 0; j < first->frame_count; j++)
            write_frame(stream, &first->frames[j]);
    }
}
