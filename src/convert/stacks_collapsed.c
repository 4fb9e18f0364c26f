/* Stacks folded: "outermost;...;innermost threads", one line a place, as flame graph scripts read.
 */
#include "convert/stacks_formats.h"

#include <inttypes.h>
#include <string.h>

#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"

#define SAFE_LIMIT (1u << 20)

/* A semicolon would begin another frame and a line feed another stack. */
static void put(struct sn_stream *stream, struct sn_buf *safe, const char *text)
{
    sn_buf_clear(safe);
    sn_text_printable(safe, text, strlen(text));
    const char *at = sn_buf_string(safe);
    for (size_t length; (length = strcspn(at, ";")), at[length]; at += length + 1) {
        sn_buf_append(&stream->buf, at, length);
        sn_buf_text(&stream->buf, "\\x3b");
    }
    sn_buf_text(&stream->buf, at);
}

void sn_stacks_collapsed_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit(SAFE_LIMIT);
    for (size_t i = 0; i < view->group_count; i++) {
        const struct sonde_stack_thread *first = &view->threads[view->groups[i].threads[0]];
        if (!first->frame_count)
            sn_buf_text(&stream->buf, "[running] ");
        for (size_t j = first->frame_count; j > 0; j--) {
            const struct sonde_stack_frame *frame = &first->frames[j - 1];
            put(stream, &safe, frame->name);
            if (frame->line)
                sn_buf_format(&stream->buf, ":%" PRIu32, frame->line);
            sn_buf_u8(&stream->buf, j > 1 ? ';' : ' ');
            sn_stream_settle(stream);
        }
        sn_buf_decimal(&stream->buf, view->groups[i].thread_count);
        sn_buf_u8(&stream->buf, '\n');
    }
}
