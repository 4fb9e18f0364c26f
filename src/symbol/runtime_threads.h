/* What the runtime's own threads do, told by their names. No state. */
#ifndef SN_RUNTIME_THREADS_H
#define SN_RUNTIME_THREADS_H

#include <stdbool.h>

/* The role of a thread by the kernel's name of it; 0: none of the runtime's own. */
unsigned sn_runtime_role(const char *thread_name);

/* "[runtime: garbage collector]"; of 0: "[native code]". */
const char *sn_runtime_role_name(unsigned role);

/* It writes the trace: not the program's own work. */
bool sn_runtime_role_is_tracing(unsigned role);

/* It collects garbage. */
bool sn_runtime_role_is_gc(unsigned role);

#endif
