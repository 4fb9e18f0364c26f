/* Log messages from events: sonde/log.h. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/event_internal.h"
#include "api/log_scopes.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_pairs.h"
#include "sonde/log.h"

#define LOGGING "Microsoft-Extensions-Logging"

/* A payload is below 64 KB; texts of scopes come on top. */
#define TEXTS_LIMIT (64u << 20)
#define TEXT_LIMIT  (1u << 20)
#define VALUES_MAX  256u

struct sonde_log_reader {
    struct sn_log_scopes scopes;
    struct sn_arena texts; /* of the present message */
    struct sn_buf name;
    struct sn_buf value;
    struct sonde_log_scope shown[SN_LOG_SCOPES_SHOWN];
    bool has_failed; /* there was no memory for all of the present message */
};

int sonde_log_reader_new(struct sonde_log_reader **ret_reader, struct sonde_error *err)
{
    struct sonde_log_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a reader of messages");
    reader->texts = sn_arena_with_limit(TEXTS_LIMIT);
    reader->name = sn_buf_with_limit(TEXT_LIMIT);
    reader->value = sn_buf_with_limit(TEXT_LIMIT);
    *ret_reader = reader;
    return SONDE_OK;
}

void sonde_log_reader_free(struct sonde_log_reader *reader)
{
    if (!reader)
        return;
    sn_log_scopes_done(&reader->scopes);
    sn_arena_done(&reader->texts);
    sn_buf_done(&reader->name);
    sn_buf_done(&reader->value);
    free(reader);
}

/* --- fields --- */

static const char *text_of(struct sonde_event *event, const char *field)
{
    struct sonde_value value;
    bool is_text = sonde_event_field(event, field, &value) && value.type == SONDE_TYPE_TEXT;
    return is_text ? value.text : "";
}

static bool number_of(struct sonde_event *event, const char *field, uint64_t *ret_number)
{
    struct sonde_value value;
    *ret_number = 0;
    if (!sonde_event_field(event, field, &value) ||
        (value.type != SONDE_TYPE_INT && value.type != SONDE_TYPE_UINT))
        return false;
    *ret_number = value.number;
    return true;
}

/* --- values --- */

static const char *keep(struct sonde_log_reader *reader, const struct sn_buf *text)
{
    const char *kept = text->failed ? NULL : sn_arena_copy(&reader->texts, text->bytes, text->size);
    reader->has_failed |= !kept;
    return kept ? kept : "";
}

/* What a logger wrote as JSON; nothing when it is not what it should be. */
static const struct sonde_log_value *read_values(struct sonde_log_reader *reader, const char *json,
                                                 size_t *ret_count)
{
    struct sn_json_pairs pairs = sn_json_pairs_of(json, strlen(json));
    struct sonde_log_value *values = sn_arena_alloc(&reader->texts, VALUES_MAX * sizeof(*values));
    size_t count = 0;
    bool is_null;
    reader->has_failed |= !values;
    while (values && count < VALUES_MAX &&
           sn_json_pairs_next(&pairs, &reader->name, &reader->value, &is_null)) {
        values[count].name = keep(reader, &reader->name);
        values[count].text = is_null ? NULL : keep(reader, &reader->value);
        count++;
    }
    *ret_count = pairs.is_bad ? 0 : count;
    return values;
}

static const char *find_value(const struct sonde_log_value *values, size_t count, const char *name,
                              size_t name_size)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(values[i].name) == name_size && memcmp(values[i].name, name, name_size) == 0)
            return values[i].text ? values[i].text : "(null)";
    }
    return NULL;
}

/* "Order {Id,5:x}": a name ends at what says how to show it, which the value already is. */
static void fill_in(struct sn_buf *to, const char *format, const struct sonde_log_value *values,
                    size_t count)
{
    while (*format) {
        const char *close = *format == '{' ? strchr(format, '}') : NULL;
        const char *value =
            close ? find_value(values, count, format + 1, strcspn(format + 1, ",:}")) : NULL;
        if (value) {
            sn_buf_text(to, value);
            format = close + 1;
        } else {
            sn_buf_u8(to, (uint8_t)*format++);
        }
    }
}

static bool is_format(const struct sonde_log_value *value)
{
    return strcmp(value->name, "{OriginalFormat}") == 0;
}

static const char *scope_text(struct sonde_log_reader *reader, const struct sonde_log_value *values,
                              size_t count)
{
    const char *format = find_value(values, count, "{OriginalFormat}", 16);
    struct sn_buf *text = &reader->value;
    sn_buf_clear(text);
    if (format)
        fill_in(text, format, values, count);
    for (size_t i = 0; !format && i < count; i++) {
        sn_buf_text(text, i ? ", " : "");
        sn_buf_text(text, values[i].name);
        sn_buf_text(text, "=");
        sn_buf_text(text, values[i].text ? values[i].text : "(null)");
    }
    return keep(reader, text);
}

/* The format is a member of its own. It is the last one by custom, which nobody promises. */
static void split_format(struct sonde_log_message *message, const struct sonde_log_value *values,
                         size_t count)
{
    struct sonde_log_value *kept = (struct sonde_log_value *)(uintptr_t)values; /* our arena's */
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_format(&values[i]))
            message->format = values[i].text ? values[i].text : "";
        else
            kept[kept_count++] = values[i];
    }
    message->values = kept;
    message->value_count = kept_count;
}

/* --- messages --- */

static void read_exception(struct sonde_log_reader *reader, const char *json,
                           struct sonde_log_message *message)
{
    size_t count = 0;
    const struct sonde_log_value *values = read_values(reader, json, &count);
    for (size_t i = 0; i < count; i++) {
        const char *text = values[i].text ? values[i].text : "";
        if (strcmp(values[i].name, "TypeName") == 0)
            message->exception_type = text;
        else if (strcmp(values[i].name, "Message") == 0)
            message->exception_message = text;
        else if (strcmp(values[i].name, "VerboseMessage") == 0)
            message->exception_text = text;
    }
}

static struct sn_log_place place_of(struct sonde_event *event, const struct sonde_event_info *info)
{
    return (struct sn_log_place){.activity = info->activity,
                                 .thread_id = info->thread_id,
                                 .trace_id = text_of(event, "ActivityTraceId")};
}

static void read_scopes(struct sonde_log_reader *reader, const struct sn_log_place *place,
                        struct sonde_log_message *message)
{
    const struct sn_log_scope *scopes[SN_LOG_SCOPES_SHOWN];
    size_t count = sn_log_scopes_of(&reader->scopes, place, scopes);
    for (size_t i = 0; i < count; i++) {
        struct sonde_log_scope *shown = &reader->shown[i];
        shown->category = scopes[i]->category;
        shown->values = read_values(reader, scopes[i]->arguments, &shown->value_count);
        shown->text = scope_text(reader, shown->values, shown->value_count);
    }
    message->scopes = reader->shown;
    message->scope_count = count;
}

static int read_message(struct sonde_log_reader *reader, struct sonde_event *event,
                        const struct sonde_event_info *info, struct sonde_log_message *ret_message)
{
    uint64_t level;
    uint64_t event_id;
    size_t count = 0;
    if (!number_of(event, "Level", &level) || level >= SONDE_LOG_NONE ||
        !number_of(event, "EventId", &event_id))
        return SONDE_E_FORMAT;
    *ret_message = (struct sonde_log_message){.level = (int)level,
                                              .event_id = (int32_t)event_id,
                                              .event_name = text_of(event, "EventName"),
                                              .category = text_of(event, "LoggerName"),
                                              .text = text_of(event, "FormattedMessage"),
                                              .format = "",
                                              .exception_type = "",
                                              .exception_message = "",
                                              .exception_text = "",
                                              .trace_id = text_of(event, "ActivityTraceId"),
                                              .span_id = text_of(event, "ActivitySpanId"),
                                              .utc_ns = info->utc_ns,
                                              .thread_id = info->thread_id};
    const struct sonde_log_value *values =
        read_values(reader, text_of(event, "ArgumentsJson"), &count);
    split_format(ret_message, values, count);
    read_exception(reader, text_of(event, "ExceptionJson"), ret_message);
    struct sn_log_place place = place_of(event, info);
    read_scopes(reader, &place, ret_message);
    return reader->has_failed || event->texts.failed ? SONDE_E_NOMEM : SONDE_OK;
}

/* Numbers of scopes are the loggers', which all share one count. */
static void open_scope(struct sonde_log_reader *reader, struct sonde_event *event,
                       const struct sonde_event_info *info)
{
    uint64_t id;
    struct sn_log_place place = place_of(event, info);
    if (number_of(event, "ID", &id))
        sn_log_scopes_open(&reader->scopes, id, &place, text_of(event, "LoggerName"),
                           text_of(event, "ArgumentsJson"));
}

static void close_scope(struct sonde_log_reader *reader, struct sonde_event *event)
{
    uint64_t id;
    if (number_of(event, "ID", &id))
        sn_log_scopes_close(&reader->scopes, id);
}

int sonde_log_reader_take(struct sonde_log_reader *reader, struct sonde_event *event,
                          struct sonde_log_message *ret_message)
{
    struct sonde_event_info info;
    sonde_event_info(event, &info);
    if (strcasecmp(info.provider, LOGGING) != 0)
        return SONDE_AGAIN;
    sn_arena_done(&reader->texts);
    reader->texts = sn_arena_with_limit(TEXTS_LIMIT);
    reader->has_failed = false;
    if (strcmp(info.name, "MessageJson") == 0)
        return read_message(reader, event, &info, ret_message);
    if (strcmp(info.name, "ActivityJsonStart") == 0)
        open_scope(reader, event, &info);
    else if (strcmp(info.name, "ActivityJsonStop") == 0)
        close_scope(reader, event);
    return SONDE_AGAIN;
}
