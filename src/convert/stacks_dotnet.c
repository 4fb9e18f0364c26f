/* Stacks as `dotnet-stack report` prints them: "Thread (0x1F):", then what the runtime's sampler
 * says of the thread, then its managed frames. */
#include "convert/stacks_formats.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/stream.h"
#include "base/text.h"

/* "shop" of "shop.dll". */
static void put_module(struct sn_stream *stream, const char *module)
{
    size_t size = strlen(module);
    bool has_ending = size > 4 && (strcmp(module + size - 4, ".dll") == 0 ||
                                   strcmp(module + size - 4, ".exe") == 0);
    sn_text_printable(&stream->buf, module, has_ending ? size - 4 : size);
}

static void write_frame(struct sn_stream *stream, const struct sonde_stack_frame *frame)
{
    bool is_unknown = !frame->method_name[0];
    if (is_unknown && frame->module[0])
        return; /* native code, which that tool never shows */
    sn_buf_text(&stream->buf, "  ");
    if (is_unknown) {
        sn_buf_text(&stream->buf, "?!?\n");
        return;
    }
    put_module(stream, frame->module[0] ? frame->module : "?");
    sn_buf_u8(&stream->buf, '!');
    sn_stacks_put(stream, frame->type_name);
    sn_buf_text(&stream->buf, frame->type_name[0] ? "." : "");
    sn_stacks_put(stream, frame->method_name);
    sn_stacks_put(stream, frame->signature[0] ? frame->signature : "()");
    sn_buf_u8(&stream->buf, '\n');
    sn_stream_settle(stream);
}

static bool is_shown(const struct sonde_stack_thread *thread)
{
    for (size_t i = 0; i < thread->frame_count; i++) {
        if (thread->frames[i].method_name[0])
            return true;
    }
    return false;
}

void sn_stacks_dotnet_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    for (size_t i = 0; i < view->thread_count; i++) {
        const struct sonde_stack_thread *thread = &view->threads[i];
        if (!is_shown(thread))
            continue;
        sn_buf_format(&stream->buf, "Thread (0x%" PRIX64 "):\n  %s\n", thread->thread_id,
                      thread->is_managed ? "CPU_TIME" : "[Native Frames]");
        for (size_t j = 0; j < thread->frame_count; j++)
            write_frame(stream, &thread->frames[j]);
        sn_buf_u8(&stream->buf, '\n');
    }
}
