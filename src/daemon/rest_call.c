#include "daemon/rest_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/text.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/problem.h"
#include "daemon/query.h"

/* --- what was asked --- */

const char *sn_rest_text(const struct sn_rest_call *call, const char *name)
{
    const struct sn_parameter *parameters = call->route->parameters;
    for (size_t i = 0; parameters && parameters[i].name && i < SN_REST_VALUES_MAX; i++) {
        if (strcmp(parameters[i].name, name) == 0)
            return call->values[i];
    }
    return NULL;
}

int64_t sn_rest_number(const struct sn_rest_call *call, const char *name)
{
    const char *text = sn_rest_text(call, name);
    return text ? strtoll(text, NULL, 10) : 0;
}

uint64_t sn_rest_seconds_ns(const struct sn_rest_call *call, const char *name, uint64_t standard)
{
    double seconds;
    const char *text = sn_rest_text(call, name);
    return text && sn_text_to_real(text, strlen(text), &seconds)
               ? (uint64_t)(seconds * (double)SN_NS_PER_SECOND)
               : standard;
}

bool sn_rest_flag(const struct sn_rest_call *call, const char *name)
{
    const char *text = sn_rest_text(call, name);
    return text && strcasecmp(text, "true") == 0;
}

/* --- Accept --- */

static bool is_refused(const char *range, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++) {
        if (range[i] == ';')
            for (i++; i < size && range[i] == ' '; i++) {
            }
        if (i + 2 < size && (range[i] == 'q' || range[i] == 'Q') && range[i + 1] == '=')
            return strspn(range + i + 2, "0.") >= size - i - 2;
    }
    return false;
}

/* Whether one range of Accept covers a type: "text/csv", and by patterns the others. */
static bool covers(const char *range, size_t size, const char *type, bool by_pattern)
{
    size_t bare = 0;
    while (bare < size && range[bare] != ';' && range[bare] != ' ')
        bare++;
    size_t main_size = strcspn(type, "/") + 1;
    if (is_refused(range, size))
        return false;
    if (bare == strlen(type) && strncasecmp(range, type, bare) == 0)
        return true;
    return by_pattern && ((bare == 3 && strncmp(range, "*/*", 3) == 0) ||
                          (bare == main_size + 1 && range[main_size] == '*' &&
                           strncasecmp(range, type, main_size) == 0));
}

static bool is_covered(const char *accept, const char *type, bool by_pattern)
{
    while (*accept) {
        accept += strspn(accept, " ,\t");
        size_t size = strcspn(accept, ",");
        if (size && covers(accept, size, type, by_pattern))
            return true;
        accept += size;
    }
    return false;
}

bool sn_rest_accepts(const struct sn_rest_call *call, const char *type)
{
    bool is_empty = call->accept[strspn(call->accept, " ,\t")] == 0;
    return is_empty || is_covered(call->accept, type, true);
}

/* One of a list of types, without its parameters. */
static bool accepts_any(const struct sn_rest_call *call, const char *types)
{
    while (*types) {
        char type[96];
        size_t size = strcspn(types, ",");
        (void)snprintf(type, sizeof(type), "%.*s", (int)size, types);
        type[strcspn(type, ";")] = 0;
        if (sn_rest_accepts(call, type))
            return true;
        types += size + (types[size] == ',');
    }
    return false;
}

bool sn_rest_is_acceptable(struct sn_rest_call *call)
{
    const char *types = "";
    if (!sn_route_has_types(call->route))
        return true;
    for (const struct sn_response *one = call->route->responses; one->status; one++) {
        bool is_good = one->status < 300;
        if (is_good && accepts_any(call, one->types))
            return true;
        types = is_good && !*types ? one->types : types;
    }
    sn_rest_problem(call, 406, "the answer is %s, and Accept takes none of it", types);
    return false;
}

bool sn_rest_prefers(const struct sn_rest_call *call, const char *type)
{
    return is_covered(call->accept, type, false);
}

bool sn_rest_lists(const char *header, const char *word)
{
    return is_covered(header, word, false);
}

/* --- the answer --- */

void sn_rest_header(struct sn_rest_call *call, const char *name, const char *format, ...)
{
    if (call->header_count == SN_REST_CALL_HEADERS_MAX)
        return;
    call->headers[call->header_count].name = name;
    char *value = call->headers[call->header_count].value;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(value, sizeof(call->headers[0].value), format, args);
    va_end(args);
    for (char *at = value; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '_'; /* no text of a process ends a header */
    }
    call->header_count++;
}

/* Where files lie is nobody's business but the machine's: a path of ours becomes the file's name.
 */
static void hide_paths(const struct sn_rest_call *call, char *text)
{
    const char *folder =
        call->daemon && call->daemon->options ? call->daemon->options->state_folder : NULL;
    size_t size = folder ? strlen(folder) : 0;
    for (char *at = text; size > 1 && (at = strstr(at, folder)); at++) {
        char *name = at;
        for (char *end = at; *end && !strchr(" '\":,;)", *end); end++)
            name = *end == '/' && end[1] ? end + 1 : name;
        memmove(at, name, strlen(name) + 1);
    }
}

static void set_problem(struct sn_rest_call *call, unsigned status, const char *text,
                        const char *member)
{
    char detail[512];
    (void)snprintf(detail, sizeof(detail), "%s", text);
    hide_paths(call, detail);
    sn_artefact_release(call->file);
    call->file = NULL;
    call->shared = NULL;
    call->status = status;
    call->content_type = SN_PROBLEM_TYPE;
    sn_buf_clear(&call->out);
    sn_problem_write(&call->out, status, detail, member);
}

void sn_rest_problem(struct sn_rest_call *call, unsigned status, const char *format, ...)
{
    char detail[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    set_problem(call, status, detail, NULL);
}

void sn_rest_invalid(struct sn_rest_call *call, const char *member, const char *format, ...)
{
    char detail[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    set_problem(call, 400, detail, member);
}

void sn_rest_failed(struct sn_rest_call *call, const struct sonde_error *err)
{
    unsigned status = sn_problem_status(err);
    const char *text = err->text[0] ? err->text : sonde_status_name(err->status);
    if (status == 507) {
        sn_rest_problem(call, status, "%s; %s, and try again", text, sn_problem_of_disk(err));
        return;
    }
    if (status != 429 && !sn_query_is_native(call->route))
        status = 400; /* dotnet-monitor knows no other */
    if (status == 429 || status == 503)
        sn_rest_header(call, "Retry-After", "5");
    set_problem(call, status, text, NULL);
}
