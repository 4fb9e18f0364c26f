#include "daemon/json_body.h"

#include <stdbool.h>

#include "base/err.h"

/* Before it is read: the reader calls itself for every level. */
static bool is_flat_enough(const char *bytes, size_t size)
{
    unsigned depth = 0;
    bool is_text = false;
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        if (is_text && c == '\\')
            i++;
        else if (c == '"')
            is_text = !is_text;
        else if (!is_text && (c == '{' || c == '['))
            depth++;
        else if (!is_text && (c == '}' || c == ']') && depth)
            depth--;
        if (depth > SN_JSON_BODY_DEPTH_MAX)
            return false;
    }
    return true;
}

int sn_json_body_read(const char *bytes, size_t size, json_t **ret_body, struct sonde_error *err)
{
    json_error_t wrong;
    if (!is_flat_enough(bytes, size))
        return sn_fail(err, SONDE_E_FORMAT, 0, "the body is nested deeper than %u levels",
                       SN_JSON_BODY_DEPTH_MAX);
    json_t *body = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &wrong);
    /* The reader has no words for some of what it found no memory for. */
    if (!body && (!*wrong.text || json_error_code(&wrong) == json_error_out_of_memory))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the body");
    if (!body)
        return sn_fail(err, SONDE_E_FORMAT, 0, "the body is no JSON: line %d, column %d: %s",
                       wrong.line, wrong.column, wrong.text);
    *ret_body = body;
    return SONDE_OK;
}
