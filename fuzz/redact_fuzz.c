/* Any bytes as a command line and as text: what is not hidden comes out as it was, nothing grows
 * beyond the word that stands for a secret, and a few bytes over and over take no longer than as
 * many others. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/redact.h"
#include "cpu_limit.h"

#define PATTERN_MAX   16u
#define REPEATED_SIZE (128u << 10)
#define LIMIT_MS      1000u

static void redact_repeated(const uint8_t *pattern, size_t size)
{
    static char text[REPEATED_SIZE];
    struct sn_buf to = sn_buf_with_limit(16 * sizeof(text));
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)pattern[i % size];
    uint64_t began_ms = cpu_now_ms();
    (void)sn_redact_arguments(&to, text, sizeof(text));
    cpu_limit_check(began_ms, LIMIT_MS, "a command line");
    sn_buf_clear(&to);
    began_ms = cpu_now_ms();
    (void)sn_redact_text(&to, text, sizeof(text));
    cpu_limit_check(began_ms, LIMIT_MS, "a text");
    sn_buf_done(&to);
}

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
    if (size && size <= PATTERN_MAX)
        redact_repeated(data, size);
    return 0;
}
