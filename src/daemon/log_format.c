#include "daemon/log_format.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "sonde/log.h"

#define RECORD_SEPARATOR 0x1E
#define REDACTED         "what looks like a secret is shown to the scope secrets"
#define PADDING          "      " /* below "info: " */

static const char *const types[] = {"text/plain", "application/x-ndjson", "application/json-seq"};

/* Longer and shorter words for the levels of ILogger. */
static const struct {
    const char *word;
    const char *mark;
} levels[] = {{"Trace", "trce"},   {"Debug", "dbug"}, {"Information", "info"},
              {"Warning", "warn"}, {"Error", "fail"}, {"Critical", "crit"}};

const char *sn_log_format_type(enum sn_log_format format)
{
    return types[format];
}

/* "2026-11-16 07:01:06Z". */
static const char *put_time(uint64_t utc_ns, char to[32])
{
    time_t second = (time_t)(utc_ns / SN_NS_PER_SECOND);
    struct tm utc;
    if (!utc_ns || !gmtime_r(&second, &utc) || !strftime(to, 32, "%Y-%m-%d %H:%M:%SZ", &utc))
        to[0] = '\0';
    return to;
}

static size_t level_of(const struct sonde_log_message *message)
{
    bool is_known = message->level >= SONDE_LOG_TRACE && message->level <= SONDE_LOG_CRITICAL;
    return is_known ? (size_t)message->level : SONDE_LOG_INFORMATION;
}

/* --- JSON --- */

static void put_values(struct sn_json *json, const struct sonde_log_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sn_json_text(json, values[i].name, values[i].text);
}

static bool has_value(const struct sonde_log_message *message, const char *name)
{
    for (size_t i = 0; i < message->value_count; i++) {
        if (strcmp(message->values[i].name, name) == 0)
            return true;
    }
    return false;
}

/* The arguments; its format is one of them. */
static void put_state(struct sn_json *json, const struct sonde_log_message *message)
{
    sn_json_object(json, "State");
    sn_json_text(json, "Message", message->text);
    put_values(json, message->values, message->value_count);
    if (message->format[0] && !has_value(message, "{OriginalFormat}"))
        sn_json_text(json, "{OriginalFormat}", message->format);
    sn_json_close(json);
}

static void put_scopes(struct sn_json *json, const struct sonde_log_message *message)
{
    sn_json_array(json, "Scopes");
    for (size_t i = 0; i < message->scope_count; i++) {
        const struct sonde_log_scope *scope = &message->scopes[i];
        sn_json_object(json, NULL);
        put_values(json, scope->values, scope->value_count);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_json(const struct sonde_log_message *message, bool is_redacted, struct sn_buf *to)
{
    struct sn_json json = sn_json_to(to);
    char time[32];
    sn_json_object(&json, NULL);
    sn_json_text(&json, "Timestamp", put_time(message->utc_ns, time));
    sn_json_text(&json, "LogLevel", levels[level_of(message)].word);
    sn_json_i64(&json, "EventId", message->event_id);
    sn_json_text(&json, "EventName", message->event_name);
    sn_json_text(&json, "Category", message->category);
    sn_json_text(&json, "Message", message->text);
    if (message->exception_text[0])
        sn_json_text(&json, "Exception", message->exception_text);
    put_state(&json, message);
    if (message->scope_count)
        put_scopes(&json, message);
    if (is_redacted)
        sn_json_text(&json, "Redacted", REDACTED);
    sn_json_close(&json);
    sn_buf_u8(to, '\n');
}

/* --- text --- */

/* A program may write lines of its own that look like the next message: they stand below it. */
static void put_block(struct sn_buf *to, const char *text)
{
    for (;;) {
        size_t size = strcspn(text, "\n");
        sn_buf_text(to, PADDING);
        sn_buf_append(to, text, size && text[size - 1] == '\r' ? size - 1 : size);
        sn_buf_u8(to, '\n');
        if (!text[size] || !text[size + 1])
            return;
        text += size + 1;
    }
}

static void put_scope_line(struct sn_buf *to, const struct sonde_log_message *message)
{
    for (size_t i = 0; i < message->scope_count; i++) {
        const struct sonde_log_scope *scope = &message->scopes[i];
        sn_buf_text(to, i ? " => " : PADDING "=> ");
        for (size_t k = 0; k < scope->value_count; k++) {
            const struct sonde_log_value *value = &scope->values[k];
            sn_buf_format(to, "%s%s:%s", k ? ", " : "", value->name,
                          value->text ? value->text : "");
        }
    }
    if (message->scope_count)
        sn_buf_u8(to, '\n');
}

static void write_text(const struct sonde_log_message *message, struct sn_buf *to)
{
    char time[32];
    sn_buf_format(to, "%s %s: %s[%" PRId32 "]", put_time(message->utc_ns, time),
                  levels[level_of(message)].mark, message->category, message->event_id);
    if (message->event_name[0])
        sn_buf_format(to, "[%s]", message->event_name);
    sn_buf_u8(to, '\n');
    put_scope_line(to, message);
    put_block(to, message->text);
    if (message->exception_text[0])
        put_block(to, message->exception_text);
}

void sn_log_format_write(enum sn_log_format format, const struct sonde_log_message *message,
                         bool is_redacted, struct sn_buf *to)
{
    if (format == SN_LOG_TEXT) {
        write_text(message, to);
        return;
    }
    if (format == SN_LOG_JSON_SEQ)
        sn_buf_u8(to, RECORD_SEPARATOR);
    write_json(message, is_redacted, to);
}

void sn_log_format_lost(enum sn_log_format format, uint64_t count, struct sn_buf *to)
{
    if (format == SN_LOG_TEXT) {
        sn_buf_format(to, PADDING "[%" PRIu64 " messages are missing here: too large]\n", count);
        return;
    }
    if (format == SN_LOG_JSON_SEQ)
        sn_buf_u8(to, RECORD_SEPARATOR);
    sn_buf_format(to, "{\"lost\":%" PRIu64 "}\n", count);
}
