/* Which processes of a recording the kernel's topics are about. */
#ifndef SN_KERNEL_SCOPE_H
#define SN_KERNEL_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/event.h"
#include "symbol/code.h"

struct sn_kernel_subject {
    const struct sn_code *code;
    const bool *is_in; /* one a process of the code; NULL: all are */
    size_t count;
};

/* The process of an event, if it is one of these; NULL: none. */
static inline const struct sn_code_process *
sn_kernel_subject_of(const struct sn_kernel_subject *subject, const struct sn_event *event)
{
    const struct sn_code_process *process =
        sn_code_process(subject->code, event->pid, event->time_ns);
    if (!process || !subject->is_in)
        return process;
    return process->index < subject->count && subject->is_in[process->index] ? process : NULL;
}

#endif
