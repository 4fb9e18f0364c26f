#include "api/options_in.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

/* No version will have larger ones: more is a `size` that nobody set. */
#define SIZE_LIMIT 4096u

static bool is_zero(const uint8_t *bytes, size_t size)
{
    while (size && !*bytes) {
        bytes++;
        size--;
    }
    return size == 0;
}

int sn_options_in(const void *given, void *to, size_t size, const char *what,
                  struct sonde_error *err)
{
    memset(to, 0, size);
    if (!given)
        return SONDE_OK;
    size_t given_size;
    memcpy(&given_size, given, sizeof(given_size));
    if (given_size < sizeof(given_size) || given_size > SIZE_LIMIT)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the size of %s is not set: it is sizeof", what);
    if (given_size > size && !is_zero((const uint8_t *)given + size, given_size - size))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "%s want something that this version of the library does not know", what);
    memcpy(to, given, given_size < size ? given_size : size);
    memcpy(to, &size, sizeof(size)); /* it is one of this version now */
    return SONDE_OK;
}
