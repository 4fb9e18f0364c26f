/* Any text as the name of a function: a text comes back that fits its room. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

/* What the library holds when we leave it within an identifier that is not ASCII is lost: see
 * demangle.c. */
__attribute__((visibility("default"))) const char *
__asan_default_options(void);            /* NOLINT(bugprone-reserved-identifier): the sanitizer's */
const char *__asan_default_options(void) /* NOLINT(bugprone-reserved-identifier) */
{
    return "detect_leaks=0";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 1);
    char to[512];
    if (!name)
        return 0;
    memcpy(name, data, size);
    name[size] = 0;
    for (size_t room = 1; room <= sizeof(to); room = room * 3 + 1) {
        memset(to, 'x', sizeof(to));
        const char *readable = sn_demangle(name, to, room);
        size_t length = strnlen(to, sizeof(to));
        if (readable != to || length >= room || (name[0] && room > 1 && !length))
            abort();
    }
    free(name);
    return 0;
}
