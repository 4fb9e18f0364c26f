/* Any text as the signature of a method, as a message and as the names of an exception: every form
 * ends, JSON is valid, and no control character reaches a terminal. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "daemon/exception_formats.h"
#include "daemon/exception_history.h"

#define OUT_LIMIT (4u << 20)

static void check_json(struct sn_buf *out)
{
    json_error_t why;
    json_t *root = json_loadb((const char *)out->bytes, out->size, JSON_ALLOW_NUL, &why);
    if (!root)
        abort();
    json_decref(root);
}

static void check_text(const struct sn_buf *out)
{
    for (size_t i = 0; i < out->size; i++) {
        if ((out->bytes[i] < 0x20 && out->bytes[i] != '\n') || out->bytes[i] == 0x7f)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SN_AUTO(sn_free) char *text = strndup((const char *)data, size);
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUT_LIMIT);
    const struct sonde_stack_frame frame = {.name = text,
                                            .type_name = text,
                                            .method_name = text,
                                            .signature = text,
                                            .module = text,
                                            .file = ""};
    struct sn_exception items[] = {
        {.id = 1, .type = text, .message = text, .frames = &frame, .frame_count = 1},
        {.id = 2, .inner_id = 1, .type = text, .message = text, .frames = &frame, .frame_count = 1},
    };
    const struct sn_exception_shot shot = {.items = items, .count = 2};
    for (int format = 0; format < SN_EXCEPTIONS_FORMATS; format++) {
        sn_buf_clear(&out);
        sn_exceptions_write(&out, &shot, NULL, (enum sn_exception_format)format, size % 2);
        if (!out.failed && format == SN_EXCEPTIONS_JSON)
            check_json(&out);
        if (!out.failed && format == SN_EXCEPTIONS_TEXT)
            check_text(&out);
    }
    return 0;
}
