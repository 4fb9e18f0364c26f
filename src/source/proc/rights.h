/* What this process may do to others here: capabilities, perf events, memory of others, tracefs. */
#ifndef SN_PROC_RIGHTS_H
#define SN_PROC_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

enum sn_perf_scope {
    SN_PERF_OWN,      /* our own thread, user code only */
    SN_PERF_KERNEL,   /* our own thread, the kernel included */
    SN_PERF_MACHINE,  /* every process of one CPU */
    SN_PERF_HARDWARE, /* cycles counted by the processor */
};

/* Whether such an event opens now. When not, errno says why. */
bool sn_rights_perf(enum sn_perf_scope scope);

/* Whether we hold a capability (CAP_SYS_PTRACE ...). */
bool sn_rights_has_capability(unsigned capability);

/* Whether /proc/kallsyms shows us its addresses. */
bool sn_rights_kernel_names(void);

/* Whether the memory of `pid` can be read. */
bool sn_rights_can_read_memory(uint32_t pid);

/* A number from a file below /proc/sys; `otherwise` when there is none. */
long sn_rights_setting(const char *name, long otherwise);

#endif
