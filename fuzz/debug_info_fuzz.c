/* Any bytes as the debug information of native code, in every form: the bounds that come out rise,
 * and no more come than were announced. */
#include <stdlib.h>

#include "format/debug_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t *bytes, size_t size, struct sn_debug_info_kind kind)
{
    struct sn_debug_bounds bounds;
    struct sn_debug_bound bound;
    uint32_t last = 0;
    uint32_t il;
    if (sn_debug_info_open(bytes, size, kind, &bounds) != SN_DEBUG_INFO_OPEN)
        return;
    uint32_t left = bounds.left;
    (void)sn_debug_bounds_find(bounds, 100, &il);
    while (sn_debug_bounds_next(&bounds, &bound)) {
        if (bound.native < last || !left--)
            abort();
        last = bound.native;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    struct sn_debug_info_kind kind = {.form =
                                          data[0] & 1 ? SN_DEBUG_INFO_BITS : SN_DEBUG_INFO_NIBBLES,
                                      .has_prefix = data[0] & 2};
    check(data + 1, size - 1, kind);
    return 0;
}
