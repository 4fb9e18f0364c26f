/* Any text as a flat JSON object: reading ends, texts hold no zero and are not longer than what
 * they were read from, and what is good ends at the end. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_pairs.h"
#include "base/own.h"

static void check(const struct sn_buf *text, size_t size)
{
    /* "\0" becomes three bytes of U+FFFD. */
    if (text->size > 3 * size || (text->size && memchr(text->bytes, 0, text->size)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(1u << 20);
    SN_AUTO(sn_buf_done) struct sn_buf value = sn_buf_with_limit(1u << 20);
    struct sn_json_pairs pairs = sn_json_pairs_of((const char *)data, size);
    bool is_null;
    for (size_t count = 0; sn_json_pairs_next(&pairs, &name, &value, &is_null); count++) {
        if (count > size)
            abort();
        check(&name, size);
        check(&value, size);
        if (is_null && value.size != 4)
            abort();
    }
    if (pairs.is_bad == (pairs.is_done && pairs.at == pairs.end))
        abort();
    if (sn_json_pairs_next(&pairs, &name, &value, &is_null))
        abort();
    return 0;
}
