#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

/* How many bytes at the start stand for themselves: most text is nothing else. */
static size_t plain_length(const char *text, size_t size)
{
    size_t length = 0;
    while (length < size && (unsigned char)text[length] >= 0x20 &&
           (unsigned char)text[length] < 0x7F && text[length] != '"' && text[length] != '\\')
        length++;
    return length;
}

/* How many bytes the character at the start of the text has. */
static size_t write_character(struct sn_buf *out, const char *text, size_t size)
{
    static const char named[] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    uint32_t point;
    bool valid;
    size_t length = sn_text_decode(text, size, &point, &valid);
    if (!valid)
        sn_buf_text(out, "\xEF\xBF\xBD");
    else if (point == '"' || point == '\\')
        sn_buf_format(out, "\\%c", (char)point);
    else if (point < sizeof(named) && named[point])
        sn_buf_format(out, "\\%c", named[point]);
    else if (point < 0x20 || point == 0x7F || point == 0x2028 || point == 0x2029)
        sn_buf_format(out, "\\u%04x", point);
    else
        sn_buf_append(out, text, length);
    return length;
}

static void write_escaped(struct sn_buf *out, const char *text, size_t size)
{
    sn_buf_u8(out, '"');
    while (size) { /* the text of none is NULL */
        size_t length = plain_length(text, size);
        if (length)
            sn_buf_append(out, text, length);
        else
            length = write_character(out, text, size);
        text += length;
        size -= length;
    }
    sn_buf_u8(out, '"');
}

static void begin_member(struct sn_json *json, const char *key)
{
    if (json->depth) {
        bool *has_member = &json->has_member[json->depth - 1];
        if (*has_member)
            sn_buf_u8(json->out, ',');
        *has_member = true;
    }
    if (key) {
        write_escaped(json->out, key, strlen(key));
        sn_buf_u8(json->out, ':');
    }
}

static void open_level(struct sn_json *json, const char *key, bool is_array)
{
    begin_member(json, key);
    assert(json->depth < SN_JSON_DEPTH_MAX);
    json->has_member[json->depth] = false;
    json->is_array[json->depth] = is_array;
    json->depth++;
    sn_buf_u8(json->out, is_array ? '[' : '{');
}

void sn_json_object(struct sn_json *json, const char *key)
{
    open_level(json, key, false);
}

void sn_json_array(struct sn_json *json, const char *key)
{
    open_level(json, key, true);
}

void sn_json_close(struct sn_json *json)
{
    assert(json->depth);
    json->depth--;
    sn_buf_u8(json->out, json->is_array[json->depth] ? ']' : '}');
}

void sn_json_bytes(struct sn_json *json, const char *key, const char *text, size_t size)
{
    begin_member(json, key);
    write_escaped(json->out, text, size);
}

void sn_json_text(struct sn_json *json, const char *key, const char *text)
{
    if (text)
        sn_json_bytes(json, key, text, strlen(text));
    else
        sn_json_null(json, key);
}

void sn_json_u64(struct sn_json *json, const char *key, uint64_t value)
{
    begin_member(json, key);
    sn_buf_decimal(json->out, value);
}

void sn_json_i64(struct sn_json *json, const char *key, int64_t value)
{
    begin_member(json, key);
    if (value < 0)
        sn_buf_u8(json->out, '-');
    sn_buf_decimal(json->out, value < 0 ? 0u - (uint64_t)value : (uint64_t)value);
}

static void write_real(struct sn_json *json, const char *key, double value,
                       const char *(*format)(double value, char to[32]))
{
    char text[32];
    begin_member(json, key);
    sn_buf_text(json->out, isfinite(value) ? format(value, text) : "null");
}

void sn_json_real(struct sn_json *json, const char *key, double value)
{
    write_real(json, key, value, sn_text_real);
}

void sn_json_exact_real(struct sn_json *json, const char *key, double value)
{
    write_real(json, key, value, sn_text_exact_real);
}

void sn_json_bool(struct sn_json *json, const char *key, bool value)
{
    begin_member(json, key);
    sn_buf_text(json->out, value ? "true" : "false");
}

void sn_json_null(struct sn_json *json, const char *key)
{
    begin_member(json, key);
    sn_buf_text(json->out, "null");
}
