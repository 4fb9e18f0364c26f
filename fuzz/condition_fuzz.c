/* Any text as a condition, and any name for its pattern: it is read or refused with a place within
 * it, and what was read says the same whatever stands around it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "base/err.h"
#include "base/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SN_AUTO(sn_free) char *text = strndup((const char *)data, size);
    size_t length = text ? strlen(text) : 0;
    const char *name = text && length < size ? (const char *)data + length + 1 : NULL;
    SN_AUTO(sn_free) char *other = name ? strndup(name, size - length - 1) : NULL;
    struct sn_condition condition = {0};
    struct sonde_error err = {0};
    if (!text)
        return 0;
    if (sn_condition_parse(text, &condition, &err) != SONDE_OK) {
        if (err.status != SONDE_E_ARGUMENT || err.offset > length || !err.text[0])
            abort();
        return 0;
    }
    if (!condition.pattern_size || condition.pattern < text ||
        condition.pattern + condition.pattern_size > text + length || !isfinite(condition.value))
        abort();
    if (condition.value < 0 && !condition.is_change)
        abort();
    bool is_plain = !memchr(condition.pattern, '*', condition.pattern_size);
    if (other && is_plain &&
        sn_condition_matches(&condition, other) !=
            (strlen(other) == condition.pattern_size &&
             memcmp(other, condition.pattern, condition.pattern_size) == 0))
        abort();
    return 0;
}
