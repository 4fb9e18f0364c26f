#include "convert/stacks_formats.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/redact.h"

const struct sn_stacks_format sn_stacks_formats[] = {
    {"text", sn_stacks_text_write},
    {"threads", sn_stacks_threads_write},
    {"tree", sn_stacks_tree_write},
    {"json", sn_stacks_json_write},
    {"speedscope", sn_stacks_speedscope_write},
    {"collapsed", sn_stacks_collapsed_write},
    {"dotnet-stack", sn_stacks_dotnet_write},
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

const char *sn_stacks_doing(const struct sonde_stack_thread *thread)
{
    static const char *const words[] = {"", "waiting", "running", "stopped"};
    bool is_known = thread->doing > SONDE_THREAD_UNKNOWN && thread->doing <= SONDE_THREAD_STOPPED;
    return is_known ? words[thread->doing] : "";
}

void sn_stacks_message(struct sn_buf *to, const struct sonde_stack_thread *thread)
{
    const char *message = thread->message ? thread->message : "";
    (void)sn_redact_text(to, message, strlen(message));
}

/* --- deadlocks --- */

uint32_t sn_stacks_deadlock_count(const struct sn_stacks_view *view)
{
    uint32_t most = 0;
    for (size_t i = 0; i < view->lock_count; i++) {
        if (view->locks[i].deadlock > most && view->locks[i].deadlock <= view->lock_count)
            most = view->locks[i].deadlock;
    }
    return most;
}

/* Who holds what `thread` waits for, plus one; 0: that is not known. */
static uint32_t holder_of(const struct sn_stacks_view *view, uint32_t thread)
{
    uint32_t lock = view->threads[thread].waits_for;
    uint32_t owner = lock && lock <= view->lock_count ? view->locks[lock - 1].owner : 0;
    return owner <= view->thread_count ? owner : 0;
}

static uint32_t first_owner(const struct sn_stacks_view *view, uint32_t number)
{
    for (size_t i = 0; i < view->lock_count; i++) {
        const struct sonde_stack_lock *lock = &view->locks[i];
        if (lock->deadlock == number && lock->owner && lock->owner <= view->thread_count)
            return lock->owner;
    }
    return 0;
}

size_t sn_stacks_deadlock(const struct sn_stacks_view *view, uint32_t number, uint32_t *to,
                          size_t most)
{
    uint32_t first = first_owner(view, number);
    uint32_t at = first;
    for (size_t count = 0; at && count < most; count++) {
        to[count] = at - 1;
        at = holder_of(view, at - 1);
        if (at == first)
            return count + 1;
    }
    return 0;
}
