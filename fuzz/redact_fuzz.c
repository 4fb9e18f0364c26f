/* Any bytes as a command line and as text: what is not hidden comes out as it was, and nothing
 * grows beyond the word that stands for a secret. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_buf to = sn_buf_with_limit(16 * size + 64);
    char *text = malloc(size ? size : 1); /* of its size, for the sanitizer */
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    size_t hidden = sn_redact_text(&to, text, size);
    if (to.failed || to.size > size + 10 * hidden)
        abort();
    if (!hidden && (to.size != size || (size && memcmp(to.bytes, text, size) != 0)))
        abort();
    sn_buf_clear(&to);
    (void)sn_redact_arguments(&to, text, size);
    if (to.failed)
        abort();
    sn_buf_done(&to);
    free(text);
    return 0;
}
