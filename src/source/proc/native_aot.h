/* Whether a process is a .NET program compiled ahead of time: it has a runtime's threads and port,
 * but native code only. */
#ifndef SN_NATIVE_AOT_H
#define SN_NATIVE_AOT_H

#include <stdbool.h>
#include <stdint.h>

/* By what its program exports for debuggers. False also when it cannot be read. */
bool sn_proc_is_native_aot(uint32_t pid);

#endif
