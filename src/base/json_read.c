/* A JSON reader that keeps nothing but where it is. */
#include "base/json_read.h"

#include <string.h>

static bool fail(struct sn_json_reader *reader)
{
    reader->is_bad = true;
    return false;
}

static void skip_space(struct sn_json_reader *reader)
{
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
        reader->at++;
}

static bool take(struct sn_json_reader *reader, char wanted)
{
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != wanted)
        return false;
    reader->at++;
    return true;
}

static void put(struct sn_json_reader *reader, size_t *length, char c)
{
    if (*length + 1 < sizeof(reader->text))
        reader->text[(*length)++] = c;
}

/* Escapes that names of types and fields never hold come as their letter. */
static bool take_text(struct sn_json_reader *reader)
{
    size_t length = 0;
    while (reader->at < reader->end && *reader->at != '"') {
        if (*reader->at == '\\' && ++reader->at == reader->end)
            break;
        put(reader, &length, *reader->at++);
    }
    reader->text[length] = '\0';
    if (reader->at == reader->end)
        return fail(reader);
    reader->at++;
    return true;
}

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

static bool take_plain(struct sn_json_reader *reader)
{
    size_t length = 0;
    while (reader->at < reader->end && is_plain(*reader->at))
        put(reader, &length, *reader->at++);
    reader->text[length] = '\0';
    return length ? true : fail(reader);
}

static bool open_one(struct sn_json_reader *reader, bool is_array)
{
    if (reader->depth == SN_JSON_READ_DEPTH)
        return fail(reader);
    reader->is_array[reader->depth++] = is_array;
    reader->is_first = true;
    reader->kind = is_array ? SN_JSON_ARRAY : SN_JSON_OBJECT;
    return true;
}

static bool take_value(struct sn_json_reader *reader)
{
    reader->wants_value = false;
    if (take(reader, '{'))
        return open_one(reader, false);
    if (take(reader, '['))
        return open_one(reader, true);
    reader->is_first = false;
    reader->is_done = reader->depth == 0;
    if (take(reader, '"')) {
        reader->kind = SN_JSON_TEXT;
        return take_text(reader);
    }
    reader->kind = SN_JSON_PLAIN;
    return take_plain(reader);
}

static bool take_close(struct sn_json_reader *reader)
{
    reader->depth--;
    reader->kind = SN_JSON_CLOSE;
    reader->is_first = false;
    reader->is_done = reader->depth == 0;
    return true;
}

static bool take_name(struct sn_json_reader *reader)
{
    if (!take(reader, '"') || !take_text(reader) || !take(reader, ':'))
        return fail(reader);
    reader->kind = SN_JSON_NAME;
    reader->wants_value = true;
    return true;
}

bool sn_json_read_next(struct sn_json_reader *reader)
{
    if (reader->is_bad || reader->is_done)
        return false;
    if (!reader->depth || reader->wants_value)
        return take_value(reader);
    bool is_array = reader->is_array[reader->depth - 1];
    if (take(reader, is_array ? ']' : '}'))
        return take_close(reader);
    if (!reader->is_first && !take(reader, ','))
        return fail(reader);
    return is_array ? take_value(reader) : take_name(reader);
}
