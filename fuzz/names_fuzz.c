/* Any three texts as type, method and signature: names end, fit, and the raw ones come out whole.
 *
 * Input: type, method and signature, each ended by a line's end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "symbol/names.h"

#define LIMIT ((size_t)64 << 20)

static const char *take_line(char **rest)
{
    const char *line = *rest ? strsep(rest, "\n") : NULL;
    return line ? line : "";
}

/* A name is never longer than what it is made of and a few words. */
static void check_size(const struct sn_buf *buf, size_t size)
{
    if (buf->failed || buf->size > 16 * size + 64)
        abort();
}

static void check_names(const char *type, const char *method, const char *signature)
{
    size_t size = strlen(type) + strlen(method) + strlen(signature);
    struct sn_buf buf = sn_buf_with_limit(LIMIT);
    sn_name_readable(&buf, type, method);
    check_size(&buf, size);
    sn_buf_clear(&buf);
    sn_name_type(&buf, type);
    check_size(&buf, size);
    sn_buf_clear(&buf);
    sn_name_full(&buf, type, method, signature);
    check_size(&buf, size);
    if (strncmp(sn_buf_string(&buf), type, strlen(type)) != 0)
        abort();
    sn_buf_clear(&buf);
    sn_name_space(&buf, type);
    struct sn_buf_view space = sn_buf_view(&buf);
    if (strncmp(space.text, type, space.size) != 0)
        abort();
    sn_buf_done(&buf);
    (void)sn_name_is_async(type, method, signature);
    (void)sn_name_is_waiting(type, method);
    (void)sn_name_is_framework(type, method);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    char *rest = text;
    const char *type = take_line(&rest);
    const char *method = take_line(&rest);
    check_names(type, method, take_line(&rest));
    free(text);
    return 0;
}
