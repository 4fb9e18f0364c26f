#include "daemon/exception_formats.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/guid_text.h"
#include "base/json.h"
#include "base/own.h"
#include "base/redact.h"
#include "base/text.h"
#include "daemon/exception_history.h"

#define TYPE_LIMIT       4096u
#define MESSAGE_LIMIT    65536u
#define RECORD_SEPARATOR 0x1E
#define CHAIN_MAX        64u /* of inner exceptions */

const char *sn_exception_format_type(enum sn_exception_format format)
{
    static const char *const types[SN_EXCEPTIONS_FORMATS] = {
        "application/json", "application/x-ndjson", "application/json-seq", "text/plain"};
    return types[format];
}

/* --- filters --- */

static bool is_meant(const char *wanted, const char *actual)
{
    return !wanted || !wanted[0] || strcmp(wanted, actual) == 0;
}

static bool matches(const struct sn_exception_rule *rule, const struct sn_exception *exception)
{
    const struct sonde_stack_frame *top = exception->frame_count ? exception->frames : NULL;
    if (!is_meant(rule->exception_type, exception->type))
        return false;
    return !top || (is_meant(rule->type_name, top->type_name) &&
                    is_meant(rule->method_name, top->method_name) &&
                    is_meant(rule->module_name, top->module));
}

static bool says_nothing(const struct sn_exception_rule *rule, bool has_frames)
{
    bool is_of_frames = (rule->type_name && rule->type_name[0]) ||
                        (rule->method_name && rule->method_name[0]) ||
                        (rule->module_name && rule->module_name[0]);
    return !(rule->exception_type && rule->exception_type[0]) && !(has_frames && is_of_frames);
}

bool sn_exception_filter_passes(const struct sn_exception_filter *filter,
                                const struct sn_exception *exception)
{
    bool is_included = !filter->include_count;
    for (size_t i = 0; i < filter->exclude_count; i++) {
        const struct sn_exception_rule *rule = &filter->exclude[i];
        if (!says_nothing(rule, exception->frame_count > 0) && matches(rule, exception))
            return false;
    }
    for (size_t i = 0; i < filter->include_count && !is_included; i++)
        is_included = matches(&filter->include[i], exception);
    return is_included;
}

/* A member whatever the size of its letters, as ASP.NET reads them. */
static const json_t *member(const json_t *object, const char *name)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (strcasecmp(key, name) == 0)
            return value;
    }
    return NULL;
}

static int read_text(const json_t *rule, const char *name, const char **ret_text,
                     struct sonde_error *err)
{
    const json_t *value = member(rule, name);
    *ret_text = NULL;
    if (!value || json_is_null(value))
        return SONDE_OK;
    if (!json_is_string(value))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s of a filter must be text", name);
    *ret_text = json_string_value(value);
    return SONDE_OK;
}

static int read_rule(const json_t *from, struct sn_exception_rule *to, struct sonde_error *err)
{
    if (!json_is_object(from))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a filter must be an object");
    int rc = read_text(from, "exceptionType", &to->exception_type, err);
    if (rc == SONDE_OK)
        rc = read_text(from, "typeName", &to->type_name, err);
    if (rc == SONDE_OK)
        rc = read_text(from, "methodName", &to->method_name, err);
    return rc == SONDE_OK ? read_text(from, "moduleName", &to->module_name, err) : rc;
}

static int read_rules(const json_t *body, const char *name, struct sn_exception_rule *rules,
                      size_t *ret_count, struct sonde_error *err)
{
    const json_t *list = member(body, name);
    if (!list || json_is_null(list))
        return SONDE_OK;
    if (!json_is_array(list) || json_array_size(list) > SN_EXCEPTION_RULES_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s must be a list of at most %u filters", name,
                       SN_EXCEPTION_RULES_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        int rc = read_rule(json_array_get(list, i), &rules[i], err);
        if (rc != SONDE_OK)
            return rc;
    }
    *ret_count = json_array_size(list);
    return SONDE_OK;
}

int sn_exception_filter_read(const json_t *body, struct sn_exception_filter *ret_filter,
                             struct sonde_error *err)
{
    *ret_filter = (struct sn_exception_filter){0};
    if (!body)
        return SONDE_OK;
    if (!json_is_object(body))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "filters must be an object");
    int rc = read_rules(body, "include", ret_filter->include, &ret_filter->include_count, err);
    return rc == SONDE_OK
               ? read_rules(body, "exclude", ret_filter->exclude, &ret_filter->exclude_count, err)
               : rc;
}

/* --- parameters --- */

static const struct {
    const char *il;
    const char *net;
} words[] = {{"bool", "System.Boolean"},      {"char", "System.Char"},
             {"int8", "System.SByte"},        {"unsigned int8", "System.Byte"},
             {"int16", "System.Int16"},       {"unsigned int16", "System.UInt16"},
             {"int32", "System.Int32"},       {"unsigned int32", "System.UInt32"},
             {"int64", "System.Int64"},       {"unsigned int64", "System.UInt64"},
             {"uint8", "System.Byte"},        {"uint16", "System.UInt16"},
             {"uint32", "System.UInt32"},     {"uint64", "System.UInt64"},
             {"float32", "System.Single"},    {"float64", "System.Double"},
             {"native int", "System.IntPtr"}, {"native unsigned int", "System.UIntPtr"},
             {"string", "System.String"},     {"object", "System.Object"},
             {"void", "System.Void"},         {"typedref", "System.TypedReference"}};

/* One type without what stands around it: "int32", "class System.String". */
static void put_word(struct sn_buf *to, const char *text, size_t size)
{
    static const char *const prefixes[] = {"class ", "valuetype ", "value class "};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        size_t length = strlen(prefixes[i]);
        if (size > length && memcmp(text, prefixes[i], length) == 0) {
            sn_buf_append(to, text + length, size - length);
            return;
        }
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strlen(words[i].il) == size && memcmp(words[i].il, text, size) == 0) {
            sn_buf_text(to, words[i].net);
            return;
        }
    }
    sn_buf_append(to, text, size);
}

/* What ends a type within a type; the angles of generic arguments become brackets. */
static void put_type(struct sn_buf *to, const char *text, size_t size)
{
    while (size && text[0] == ' ') {
        text++;
        size--;
    }
    for (size_t at = 0; at < size;) {
        size_t length = 0;
        while (at + length < size && !strchr("<>,[]&*", text[at + length]))
            length++;
        put_word(to, text + at, length);
        at += length;
        if (at < size)
            sn_buf_u8(to, (uint8_t)(text[at] == '<' ? '[' : text[at] == '>' ? ']' : text[at]));
        at++;
    }
}

void sn_exception_parameters(const char *signature, void (*take)(void *user, const char *type),
                             void *user)
{
    SN_AUTO(sn_buf_done) struct sn_buf type = sn_buf_with_limit(TYPE_LIMIT);
    const char *end = strrchr(signature, ')');
    const char *at = strchr(signature, '(');
    if (!at || !end || end <= at + 1)
        return;
    size_t depth = 0;
    const char *begin = ++at;
    for (; at <= end; at++) {
        depth += *at == '<' || *at == '[' || *at == '(';
        bool is_last = at == end;
        if (is_last || (*at == ',' && !depth)) {
            sn_buf_clear(&type);
            put_type(&type, begin, (size_t)(at - begin));
            take(user, sn_buf_string(&type));
            begin = at + 1;
        }
        depth -= depth && (*at == '>' || *at == ']' || *at == ')');
    }
}

/* --- writing --- */

struct writer {
    struct sn_buf *out;
    const struct sn_exception_shot *shot;
    const struct sn_exception_filter *filter; /* NULL: everything */
    bool shows_secrets;
    bool has_parameter; /* of the frame that is being written */
    struct sn_json json;
    struct sn_buf message;
};

/* "2026-11-16T07:43:42.1234567Z": ticks of .NET have seven digits. */
static const char *stamp(uint64_t utc_ns, char to[40])
{
    char day[32] = "";
    struct tm parts = {0};
    time_t seconds = (time_t)(utc_ns / SN_NS_PER_SECOND);
    if (gmtime_r(&seconds, &parts))
        (void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(to, 40, "%.29s.%07" PRIu64 "Z", day, utc_ns % SN_NS_PER_SECOND / 100);
    return to;
}

static const char *message_of(struct writer *writer, const struct sn_exception *exception)
{
    if (writer->shows_secrets)
        return exception->message;
    sn_buf_clear(&writer->message);
    (void)sn_redact_text(&writer->message, exception->message, strlen(exception->message));
    return sn_buf_string(&writer->message);
}

static bool passes(const struct writer *writer, const struct sn_exception *exception)
{
    return !writer->filter || sn_exception_filter_passes(writer->filter, exception);
}

static const char *or_else(const char *text, const char *other)
{
    return text[0] ? text : other;
}

static void add_parameter(void *user, const char *type)
{
    sn_json_text(user, NULL, type);
}

static void write_frame(struct sn_json *json, const struct sonde_stack_frame *frame)
{
    char guid[SN_GUID_LENGTH + 1];
    sn_json_object(json, NULL);
    sn_json_text(json, "methodName", or_else(frame->method_name, "UnknownFunction"));
    sn_json_u64(json, "methodToken", frame->token);
    sn_json_array(json, "parameterTypes");
    sn_exception_parameters(frame->signature, add_parameter, json);
    sn_json_close(json);
    sn_json_text(json, "typeName", or_else(frame->type_name, "UnknownClass"));
    sn_json_text(json, "moduleName", or_else(frame->module, "UnknownModule"));
    sn_json_text(json, "moduleVersionId", sn_guid_write(frame->module_version_id, guid));
    sn_json_bool(json, "hidden", false);
    sn_json_close(json);
}

/* In which module the type of an exception is the runtime's events do not tell. */
static void write_instance(struct writer *writer, const struct sn_exception *exception)
{
    struct sn_json *json = &writer->json;
    char when[40];
    sn_json_object(json, NULL);
    sn_json_u64(json, "id", exception->id);
    sn_json_text(json, "timestamp", stamp(exception->utc_ns, when));
    sn_json_text(json, "typeName", exception->type);
    sn_json_text(json, "moduleName", "UnknownModule");
    sn_json_text(json, "message", message_of(writer, exception));
    sn_json_array(json, "innerExceptions");
    if (exception->inner_id) {
        sn_json_object(json, NULL);
        sn_json_u64(json, "id", exception->inner_id);
        sn_json_close(json);
    }
    sn_json_close(json);
    sn_json_object(json, "stack");
    sn_json_u64(json, "threadId", exception->thread_id);
    sn_json_null(json, "threadName");
    sn_json_array(json, "frames");
    for (size_t i = 0; i < exception->frame_count; i++)
        write_frame(json, &exception->frames[i]);
    sn_json_close(json);
    sn_json_close(json);
    sn_json_close(json);
}

static void write_array(struct writer *writer)
{
    sn_json_array(&writer->json, NULL);
    for (size_t i = 0; i < writer->shot->count; i++) {
        if (passes(writer, &writer->shot->items[i]))
            write_instance(writer, &writer->shot->items[i]);
    }
    sn_json_close(&writer->json);
    sn_buf_u8(writer->out, '\n');
}

static void write_sequence(struct writer *writer, bool is_separated)
{
    for (size_t i = 0; i < writer->shot->count; i++) {
        if (!passes(writer, &writer->shot->items[i]))
            continue;
        if (is_separated)
            sn_buf_u8(writer->out, RECORD_SEPARATOR);
        writer->json = sn_json_to(writer->out);
        write_instance(writer, &writer->shot->items[i]);
        sn_buf_u8(writer->out, '\n');
    }
}

/* --- text --- */

static void put(struct writer *writer, const char *text)
{
    sn_text_printable(writer->out, text, strlen(text));
}

/* Messages have lines, and keep them. */
static void put_lines(struct writer *writer, const char *text)
{
    for (size_t length; (length = strcspn(text, "\n")), text[length]; text += length + 1) {
        sn_text_printable(writer->out, text, length - (length && text[length - 1] == '\r'));
        sn_buf_u8(writer->out, '\n');
    }
    put(writer, text);
}

static void put_head(struct writer *writer, const struct sn_exception *exception)
{
    const char *message = message_of(writer, exception);
    put(writer, exception->type);
    if (message[0]) {
        sn_buf_text(writer->out, ": ");
        put_lines(writer, message);
    }
}

static void put_parameter(void *user, const char *type)
{
    struct writer *writer = user;
    if (writer->has_parameter)
        sn_buf_u8(writer->out, ',');
    writer->has_parameter = true;
    put(writer, type);
}

static void put_frames(struct writer *writer, const struct sn_exception *exception)
{
    for (size_t i = 0; i < exception->frame_count; i++) {
        const struct sonde_stack_frame *frame = &exception->frames[i];
        sn_buf_text(writer->out, "\n   at ");
        put(writer, or_else(frame->type_name, "UnknownClass"));
        sn_buf_u8(writer->out, '.');
        put(writer, or_else(frame->method_name, "UnknownFunction"));
        sn_buf_u8(writer->out, '(');
        writer->has_parameter = false;
        sn_exception_parameters(frame->signature, put_parameter, writer);
        sn_buf_u8(writer->out, ')');
    }
}

/* Among those before it that are shown; NULL when there is none. */
static const struct sn_exception *find_inner(const struct writer *writer,
                                             const struct sn_exception *exception)
{
    for (const struct sn_exception *at = writer->shot->items; at < exception; at++) {
        if (at->id == exception->inner_id && passes(writer, at))
            return at;
    }
    return NULL;
}

/* The head of each, then from the innermost one outwards the frames of each. */
static void put_chain(struct writer *writer, const struct sn_exception *exception)
{
    const struct sn_exception *chain[CHAIN_MAX] = {exception};
    size_t depth = 1;
    put_head(writer, exception);
    while (depth < CHAIN_MAX && chain[depth - 1]->inner_id &&
           (chain[depth] = find_inner(writer, chain[depth - 1]))) {
        sn_buf_text(writer->out, "\n ---> ");
        put_head(writer, chain[depth++]);
    }
    if (chain[depth - 1]->inner_id)
        sn_buf_text(writer->out, "\n   --- The inner exception was not included in the filter ---");
    while (depth) {
        put_frames(writer, chain[--depth]);
        if (depth)
            sn_buf_text(writer->out, "\n   --- End of inner exception stack trace ---");
    }
}

static void write_text(struct writer *writer)
{
    for (size_t i = 0; i < writer->shot->count; i++) {
        const struct sn_exception *exception = &writer->shot->items[i];
        char when[40];
        if (!passes(writer, exception))
            continue;
        sn_buf_format(writer->out, "First chance exception at %s\n",
                      stamp(exception->utc_ns, when));
        put_chain(writer, exception);
        sn_buf_text(writer->out, "\n\n");
    }
}

void sn_exceptions_write(struct sn_buf *out, const struct sn_exception_shot *shot,
                         const struct sn_exception_filter *filter, enum sn_exception_format format,
                         bool shows_secrets)
{
    struct writer writer = {.out = out,
                            .shot = shot,
                            .filter = filter,
                            .shows_secrets = shows_secrets,
                            .json = sn_json_to(out),
                            .message = sn_buf_with_limit(MESSAGE_LIMIT)};
    switch (format) {
    case SN_EXCEPTIONS_TEXT: write_text(&writer); break;
    case SN_EXCEPTIONS_NDJSON: write_sequence(&writer, false); break;
    case SN_EXCEPTIONS_JSON_SEQ: write_sequence(&writer, true); break;
    default: write_array(&writer); break;
    }
    sn_buf_done(&writer.message);
}
