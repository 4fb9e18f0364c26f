#include "cli/log_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/style.h"
#include "base/text.h"
#include "sonde/log.h"

#define NS_PER_MS 1000000u
#define INDENT    "                    " /* below the category */

/* --- for people --- */

static void put_styled(const struct sn_log_lines *lines, struct sn_buf *to, enum sn_style style,
                       const char *text, size_t size)
{
    const char *code = lines->has_colour ? sn_style_code(style) : NULL;
    if (code)
        sn_buf_format(to, "\033[%sm", code);
    sn_text_printable(to, text, size);
    if (code)
        sn_buf_text(to, "\033[0m");
}

/* Text of several lines: those behind the first stand below it, so that none looks like a message.
 */
static void put_block(const struct sn_log_lines *lines, struct sn_buf *to, enum sn_style style,
                      const char *text)
{
    for (;;) {
        size_t size = strcspn(text, "\n");
        size_t shown = size && text[size - 1] == '\r' ? size - 1 : size;
        put_styled(lines, to, style, text, shown);
        sn_buf_u8(to, '\n');
        if (!text[size] || !text[size + 1])
            return;
        text += size + 1;
        sn_buf_text(to, INDENT);
    }
}

static void put_clock(struct sn_log_lines *lines, struct sn_buf *to, uint64_t utc_ns)
{
    time_t second = (time_t)(utc_ns / SN_NS_PER_SECOND);
    struct tm local;
    char text[32];
    if (utc_ns && (second != lines->second || !lines->clock[0]) && localtime_r(&second, &local)) {
        (void)strftime(lines->clock, sizeof(lines->clock), "%H:%M:%S", &local);
        lines->second = second;
    }
    int size = snprintf(text, sizeof(text), "%8s.%03u", utc_ns ? lines->clock : "--:--:--",
                        (unsigned)(utc_ns % SN_NS_PER_SECOND / NS_PER_MS));
    put_styled(lines, to, SN_STYLE_DIM, text, (size_t)size);
}

static void put_level(const struct sn_log_lines *lines, struct sn_buf *to, int level)
{
    static const struct {
        const char *word;
        enum sn_style style;
    } levels[] = {{"trace", SN_STYLE_DIM},  {"debug", SN_STYLE_DIM}, {"info ", SN_STYLE_GOOD},
                  {"warn ", SN_STYLE_WARN}, {"error", SN_STYLE_BAD}, {"crit ", SN_STYLE_BAD}};
    put_styled(lines, to, levels[level].style, levels[level].word, 5);
}

static void put_process(struct sn_buf *to, uint32_t pid, const char *process)
{
    if (!process)
        return;
    sn_text_printable(to, process, strlen(process));
    sn_buf_format(to, "[%" PRIu32 "]  ", pid);
}

static void put_category(const struct sn_log_lines *lines, struct sn_buf *to,
                         const struct sonde_log_message *message)
{
    put_styled(lines, to, SN_STYLE_BOLD, message->category, strlen(message->category));
    if (message->event_id || message->event_name[0]) {
        sn_buf_format(to, "[%" PRId32, message->event_id);
        sn_buf_text(to, message->event_name[0] ? " " : "");
        sn_text_printable(to, message->event_name, strlen(message->event_name));
        sn_buf_u8(to, ']');
    }
    sn_buf_text(to, "  ");
}

/* A number for what a message is part of, whatever the process. */
static uint64_t scopes_key(uint32_t pid, const struct sonde_log_message *message)
{
    uint64_t key = pid;
    for (size_t i = 0; i < message->scope_count; i++)
        key = sn_text_hash(key, message->scopes[i].text);
    return key;
}

/* Said once for messages that follow each other. */
static void put_scopes(struct sn_log_lines *lines, struct sn_buf *to, uint32_t pid,
                       const struct sonde_log_message *message)
{
    bool is_first = true;
    uint64_t key = scopes_key(pid, message);
    bool is_said = key == lines->scopes_key;
    lines->scopes_key = key;
    for (size_t i = 0; i < message->scope_count && !is_said; i++) {
        const char *text = message->scopes[i].text;
        if (!text[0])
            continue;
        sn_buf_text(to, is_first ? INDENT : " ");
        put_styled(lines, to, SN_STYLE_DIM, "=> ", 3);
        put_styled(lines, to, SN_STYLE_DIM, text, strlen(text));
        is_first = false;
    }
    if (!is_first)
        sn_buf_u8(to, '\n');
}

static void write_text(struct sn_log_lines *lines, uint32_t pid, const char *process,
                       const struct sonde_log_message *message, struct sn_buf *to)
{
    put_clock(lines, to, message->utc_ns);
    sn_buf_text(to, "  ");
    put_level(lines, to, message->level);
    sn_buf_text(to, " ");
    put_process(to, pid, process);
    put_category(lines, to, message);
    put_block(lines, to, SN_STYLE_NONE, message->text);
    if (!lines->no_scopes)
        put_scopes(lines, to, pid, message);
    if (message->exception_text[0]) {
        sn_buf_text(to, INDENT);
        put_block(lines, to, SN_STYLE_WARN, message->exception_text);
    }
}

/* --- for programs --- */

static void write_values(struct sn_json *json, const struct sonde_log_value *values, size_t count)
{
    sn_json_object(json, "arguments");
    for (size_t i = 0; i < count; i++)
        sn_json_text(json, values[i].name, values[i].text);
    sn_json_close(json);
}

static void write_scopes(struct sn_json *json, const struct sonde_log_message *message)
{
    sn_json_array(json, "scopes");
    for (size_t i = 0; i < message->scope_count; i++) {
        const struct sonde_log_scope *scope = &message->scopes[i];
        sn_json_object(json, NULL);
        sn_json_text(json, "category", scope->category);
        sn_json_text(json, "text", scope->text);
        write_values(json, scope->values, scope->value_count);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_exception(struct sn_json *json, const struct sonde_log_message *message)
{
    if (!message->exception_type[0] && !message->exception_text[0])
        return;
    sn_json_object(json, "exception");
    sn_json_text(json, "type", message->exception_type);
    sn_json_text(json, "message", message->exception_message);
    sn_json_text(json, "text", message->exception_text);
    sn_json_close(json);
}

static void write_head(struct sn_json *json, uint64_t utc_ns, uint32_t pid, const char *process)
{
    char time[32];
    sn_json_object(json, NULL);
    if (utc_ns)
        sn_json_text(json, "time", sn_clock_rfc3339(utc_ns, time));
    sn_json_u64(json, "pid", pid);
    if (process)
        sn_json_text(json, "process", process);
}

static void write_json(const struct sn_log_lines *lines, uint32_t pid, const char *process,
                       const struct sonde_log_message *message, struct sn_buf *to)
{
    struct sn_json json = sn_json_to(to);
    write_head(&json, message->utc_ns, pid, process);
    sn_json_u64(&json, "tid", message->thread_id);
    sn_json_text(&json, "level", sonde_log_level_name(message->level));
    sn_json_text(&json, "category", message->category);
    sn_json_i64(&json, "eventId", message->event_id);
    if (message->event_name[0])
        sn_json_text(&json, "eventName", message->event_name);
    sn_json_text(&json, "message", message->text);
    if (message->format[0])
        sn_json_text(&json, "format", message->format);
    write_values(&json, message->values, message->value_count);
    if (message->scope_count && !lines->no_scopes)
        write_scopes(&json, message);
    write_exception(&json, message);
    if (message->trace_id[0]) {
        sn_json_text(&json, "traceId", message->trace_id);
        sn_json_text(&json, "spanId", message->span_id);
    }
    sn_json_close(&json);
    sn_buf_u8(to, '\n');
}

/* --- both --- */

void sn_log_lines_write(struct sn_log_lines *lines, uint32_t pid, const char *process,
                        const struct sonde_log_message *message, struct sn_buf *to)
{
    if (lines->is_json)
        write_json(lines, pid, process, message, to);
    else
        write_text(lines, pid, process, message, to);
}

void sn_log_lines_lost(struct sn_log_lines *lines, uint32_t pid, const char *process,
                       uint64_t count, struct sn_buf *to)
{
    uint64_t now = sn_clock_utc_ns();
    char text[32];
    if (lines->is_json) {
        struct sn_json json = sn_json_to(to);
        write_head(&json, now, pid, process);
        sn_json_u64(&json, "lost", count);
        sn_json_close(&json);
        sn_buf_u8(to, '\n');
        return;
    }
    put_clock(lines, to, now);
    sn_buf_text(to, "  lost  ");
    put_process(to, pid, process);
    sn_buf_format(to, "%s events: the buffer in the process was full\n",
                  sn_text_count(count, text));
}
