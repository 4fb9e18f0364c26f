/* Any text in any nesting: what the writer writes is one JSON value in UTF-8.
 *
 * Input: commands of one byte, each with what it needs behind it. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/json.h"

/* --- a validator that shares nothing with the writer --- */

static const char *skip_string(const char *at, const char *end)
{
    if (at == end || *at++ != '"')
        return NULL;
    while (at < end && *at != '"') {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at++ != '\\')
            continue;
        if (at == end || !strchr("\"\\/bfnrtu", *at) || !*at)
            return NULL;
        if (*at++ != 'u')
            continue;
        for (int i = 0; i < 4; i++, at++) {
            if (at == end || !*at || !strchr("0123456789abcdefABCDEF", *at))
                return NULL;
        }
    }
    return at < end ? at + 1 : NULL;
}

static const char *skip_digits(const char *at, const char *end)
{
    const char *start = at;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at > start ? at : NULL;
}

static const char *skip_number(const char *at, const char *end)
{
    at += at < end && *at == '-';
    bool is_zero = at < end && *at == '0';
    at = is_zero ? at + 1 : skip_digits(at, end);
    if (at && at < end && *at == '.')
        at = skip_digits(at + 1, end);
    if (at && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        at = skip_digits(at, end);
    }
    return at;
}

static const char *skip_scalar(const char *at, const char *end)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(end - at) >= length && memcmp(at, words[i], length) == 0)
            return at + length;
    }
    return at < end && *at == '"' ? skip_string(at, end) : skip_number(at, end);
}

/* The value after a comma, an opening bracket or at the start, its key included. */
static const char *skip_head(const char *at, const char *end, bool in_object)
{
    if (!in_object)
        return at;
    at = skip_string(at, end);
    return at && at < end && *at == ':' ? at + 1 : NULL;
}

static bool is_json(const char *at, const char *end)
{
    char closers[SN_JSON_DEPTH_MAX];
    unsigned depth = 0;
    bool wants_value = true;
    while (at) {
        if (wants_value) {
            at = skip_head(at, end, depth && closers[depth - 1] == '}');
            if (!at || at == end)
                return false;
            if (*at == '{' || *at == '[') {
                if (depth == SN_JSON_DEPTH_MAX)
                    return false;
                closers[depth++] = *at == '{' ? '}' : ']';
                at++;
                wants_value = at < end && *at != closers[depth - 1];
                continue;
            }
            at = skip_scalar(at, end);
            wants_value = false;
            continue;
        }
        if (!depth)
            return at == end;
        if (at == end)
            return false;
        wants_value = *at == ',';
        if (!wants_value && *at != closers[--depth])
            return false;
        at++;
    }
    return false;
}

/* By the table of well-formed sequences in the Unicode standard. */
static size_t utf8_length(const uint8_t *at, size_t left)
{
    static const struct {
        uint8_t first_low, first_high, second_low, second_high, length;
    } rows[] = {{0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
                {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3},
                {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
                {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    if (at[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (at[0] < rows[i].first_low || at[0] > rows[i].first_high || left < rows[i].length)
            continue;
        bool is_good = at[1] >= rows[i].second_low && at[1] <= rows[i].second_high;
        for (size_t next = 2; next < rows[i].length; next++)
            is_good = is_good && (at[next] & 0xC0u) == 0x80u;
        return is_good ? rows[i].length : 0;
    }
    return 0;
}

static bool is_utf8(const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    for (size_t at = 0; at < size;) {
        size_t length = utf8_length(bytes + at, size - at);
        if (!length)
            return false;
        at += length;
    }
    return true;
}

/* --- the writer driven by the input --- */

static void write_one(struct sn_json *json, struct sn_cursor *input, const char *key)
{
    uint8_t command = sn_cursor_u8(input);
    size_t size = sn_cursor_u8(input);
    double real;
    uint64_t bits;
    switch (command % 8u) {
    case 0:
        if (json->depth < SN_JSON_DEPTH_MAX)
            sn_json_object(json, key);
        break;
    case 1:
        if (json->depth < SN_JSON_DEPTH_MAX)
            sn_json_array(json, key);
        break;
    case 2:
        if (json->depth > 1)
            sn_json_close(json);
        break;
    case 3: sn_json_u64(json, key, sn_cursor_u64(input)); break;
    case 4: sn_json_i64(json, key, sn_cursor_i64(input)); break;
    case 5:
        bits = sn_cursor_u64(input);
        memcpy(&real, &bits, sizeof(real));
        sn_json_real(json, key, real);
        break;
    case 6: sn_json_bool(json, key, size & 1u); break;
    default:
        if (size > sn_cursor_left(input))
            size = sn_cursor_left(input);
        sn_json_bytes(json, key, (const char *)sn_cursor_bytes(input, size), size);
    }
}

/* A key of up to seven bytes of the input. */
static const char *next_key(const struct sn_json *json, struct sn_cursor *input, char key[8])
{
    if (json->is_array[json->depth - 1])
        return NULL;
    size_t size = sn_cursor_u8(input) % 8u;
    const uint8_t *bytes = size <= sn_cursor_left(input) ? sn_cursor_bytes(input, size) : NULL;
    memset(key, 0, 8);
    if (bytes)
        memcpy(key, bytes, size);
    return key;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_cursor input = sn_cursor_over(data, size);
    struct sn_buf out = sn_buf_with_limit(1u << 20);
    struct sn_json json = sn_json_to(&out);
    char key[8];
    if (sn_cursor_u8(&input) & 1u)
        sn_json_object(&json, NULL);
    else
        sn_json_array(&json, NULL);
    while (sn_cursor_left(&input) && !input.bad)
        write_one(&json, &input, next_key(&json, &input, key));
    while (json.depth)
        sn_json_close(&json);
    const char *text = (const char *)out.bytes;
    if (!out.failed && (!is_utf8(text, out.size) || !is_json(text, text + out.size)))
        abort();
    sn_buf_done(&out);
    return 0;
}
