/* Which release a .NET runtime is: by the mark that its build leaves in its data, else by the
 * folder that it was installed in. */
#ifndef SN_RUNTIME_VERSION_H
#define SN_RUNTIME_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_memory;

struct sn_runtime_version {
    uint32_t major; /* 8, 9, 10 */
    char text[32];  /* "10.0.12" */
};

/* `base` is any address in the module that holds the runtime: libcoreclr.so, or the program itself
 * when that is a single file. False: it cannot be told. */
bool sn_runtime_version_find(struct sn_memory *memory, uint64_t base,
                             struct sn_runtime_version *ret_version);

#endif
