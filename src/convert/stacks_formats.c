#include "convert/stacks_formats.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

const struct sn_stacks_format sn_stacks_formats[] = {
    {"text", sn_stacks_text_write},
    {"json", sn_stacks_json_write},
    {"speedscope", sn_stacks_speedscope_write},
    {"collapsed", sn_stacks_collapsed_write},
    {"dotnet-monitor-json", sn_stacks_monitor_json_write},
    {"dotnet-monitor-text", sn_stacks_monitor_text_write},
    {"dotnet-monitor-speedscope", sn_stacks_monitor_speedscope_write},
    {NULL, NULL},
};

const struct sn_stacks_format *sn_stacks_format_find(const char *name)
{
    const struct sn_stacks_format *format = sn_stacks_formats;
    while (format->name && strcmp(format->name, name) != 0)
        format++;
    return format->name ? format : NULL;
}

void sn_stacks_thread_label(struct sn_buf *to, const struct sn_stacks_view *view,
                            const struct sonde_stack_thread *thread)
{
    if (thread->name[0])
        sn_buf_format(to, "%s (%" PRIu64 ")", thread->name, thread->thread_id);
    else if (thread->thread_id == view->main_id)
        sn_buf_format(to, "main (%" PRIu64 ")", thread->thread_id);
    else
        sn_buf_format(to, "thread %" PRIu64, thread->thread_id);
}
