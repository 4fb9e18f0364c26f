#include "daemon/query.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

bool sn_query_is_native(const struct sn_route *route)
{
    return strncmp(route->path, "/api/", 5) == 0;
}

/* --- the path --- */

static int find_parameter(const struct sn_route *route, const char *name, size_t size,
                          bool any_case)
{
    const struct sn_parameter *parameters = route->parameters;
    for (int i = 0; parameters && parameters[i].name && i < (int)SN_QUERY_VALUES_MAX; i++) {
        const char *known = parameters[i].name;
        if (strlen(known) == size &&
            (any_case ? strncasecmp(known, name, size) == 0 : strncmp(known, name, size) == 0))
            return i;
    }
    return -1;
}

static bool is_same(const struct sn_route *route, const char *a, const char *b, size_t size)
{
    return sn_query_is_native(route) ? strncmp(a, b, size) == 0 : strncasecmp(a, b, size) == 0;
}

/* One part of both paths; a variable takes any that is not empty. */
static bool match_part(const struct sn_route *route, const char *part, size_t part_size, char *at,
                       size_t size, const char **values)
{
    if (part[0] != '{')
        return part_size == size && is_same(route, part, at, size);
    int index = find_parameter(route, part + 1, part_size - 2, false);
    if (!size || index < 0)
        return false;
    if (values)
        values[index] = at;
    return true;
}

/* Values are texts of their own. */
static void cut(char *path)
{
    for (char *slash = path; (slash = strchr(slash, '/')); slash++)
        *slash = 0;
}

int sn_query_match(const struct sn_route *route, char *path, const char **values)
{
    const char *part = route->path;
    char *at = path;
    int variable_count = 0;
    while (*part == '/' && *at == '/') {
        size_t part_size = strcspn(++part, "/");
        size_t size = strcspn(++at, "/");
        if (!match_part(route, part, part_size, at, size, values))
            return -1;
        variable_count += part[0] == '{';
        part += part_size;
        at += size;
    }
    if (*part || *at)
        return -1;
    if (values)
        cut(path);
    return variable_count;
}

/* --- kinds of values --- */

static bool is_number(const struct sn_parameter *parameter, const char *text)
{
    uint64_t number;
    bool is_negative = text[0] == '-';
    const char *digits = text + is_negative;
    if (!isdigit((unsigned char)digits[0]) || digits[1] == 'x' || digits[1] == 'X' ||
        !sn_text_to_u64(digits, INT64_MAX, &number))
        return false;
    int64_t value = is_negative ? -(int64_t)number : (int64_t)number;
    return value >= parameter->min && value <= parameter->max;
}

static bool is_flag(const char *text, bool any_case)
{
    return any_case ? strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0
                    : strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

static bool is_guid(const char *text)
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    size_t i = 0;
    for (; shape[i]; i++) {
        if (shape[i] == '-' ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
    }
    return text[i] == 0;
}

static bool is_word(const char *words, const char *text, size_t size, bool any_case)
{
    while (*words) {
        size_t word_size = strcspn(words, ",");
        if (size && word_size == size &&
            (any_case ? strncasecmp(words, text, size) == 0 : strncmp(words, text, size) == 0))
            return true;
        words += word_size + (words[word_size] == ',');
    }
    return false;
}

/* Every one of a list with commas, around which blanks may stand. */
static bool are_words(const char *words, const char *text, bool any_case)
{
    for (;;) {
        text += strspn(text, " ");
        size_t size = strcspn(text, ",");
        size_t bare = size;
        while (bare && text[bare - 1] == ' ')
            bare--;
        if (!is_word(words, text, bare, any_case))
            return false;
        if (!text[size])
            return true;
        text += size + 1;
    }
}

/* What stands behind the seconds: a fraction, then Z or an offset. */
static bool read_tail(const char *tail, uint64_t *ret_fraction_ns, int64_t *ret_offset)
{
    uint64_t unit = SN_NS_PER_SECOND;
    uint64_t fraction = 0;
    if (*tail == '.') {
        for (tail++; isdigit((unsigned char)*tail); tail++) {
            unit /= 10;
            fraction += unit * (uint64_t)(*tail - '0');
        }
    }
    *ret_fraction_ns = fraction;
    *ret_offset = 0;
    if (strcmp(tail, "Z") == 0 || strcmp(tail, "z") == 0)
        return true;
    if ((*tail != '+' && *tail != '-') || strlen(tail) != 6 || tail[3] != ':' ||
        strspn(tail + 1, "0123456789") != 2 || strspn(tail + 4, "0123456789") != 2)
        return false;
    int64_t hours = (tail[1] - '0') * 10 + (tail[2] - '0');
    int64_t minutes = (tail[4] - '0') * 10 + (tail[5] - '0');
    *ret_offset = (*tail == '-' ? -60 : 60) * (hours * 60 + minutes);
    return hours < 24 && minutes < 60;
}

/* "-5m": so long ago. */
static bool read_ago(const char *text, uint64_t *ret_utc_ns)
{
    static const struct {
        char letter;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    uint64_t count = 0;
    const char *at = text + 1;
    if (*text != '-' || !isdigit((unsigned char)*at))
        return false;
    for (; isdigit((unsigned char)*at) && count < 1000000000; at++)
        count = count * 10 + (uint64_t)(*at - '0');
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (*at != units[i].letter || at[1])
            continue;
        uint64_t now = sn_clock_utc_ns() / SN_NS_PER_SECOND;
        uint64_t ago = count * units[i].seconds;
        *ret_utc_ns = (ago < now ? now - ago : 0) * SN_NS_PER_SECOND;
        return true;
    }
    return false;
}

bool sn_query_time(const char *text, uint64_t *ret_utc_ns)
{
    struct tm parts = {0};
    uint64_t fraction_ns;
    int64_t offset;
    double seconds;
    if (read_ago(text, ret_utc_ns))
        return true;
    if (sn_text_to_real(text, strlen(text), &seconds) && seconds >= 0 && seconds < 1e10) {
        *ret_utc_ns = (uint64_t)(seconds * 1e9);
        return true;
    }
    const char *tail = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (!tail || !isdigit((unsigned char)text[0]) || !read_tail(tail, &fraction_ns, &offset))
        return false;
    int64_t at = (int64_t)timegm(&parts) - offset;
    if (at < 0 || at > 10000000000)
        return false;
    *ret_utc_ns = (uint64_t)at * SN_NS_PER_SECOND + fraction_ns;
    return true;
}

static bool is_seconds(const struct sn_parameter *parameter, const char *text)
{
    double seconds;
    return sn_text_to_real(text, strlen(text), &seconds) && seconds >= (double)parameter->min &&
           seconds <= (double)parameter->max;
}

static bool is_fit(const struct sn_route *route, const struct sn_parameter *parameter,
                   const char *text)
{
    uint64_t unused;
    bool any_case = !sn_query_is_native(route);
    switch (parameter->kind) {
    case SN_PARAMETER_TEXT: return true;
    case SN_PARAMETER_NUMBER: return is_number(parameter, text);
    case SN_PARAMETER_FLAG: return is_flag(text, any_case);
    case SN_PARAMETER_GUID: return is_guid(text);
    case SN_PARAMETER_WORD: return is_word(parameter->words, text, strlen(text), any_case);
    case SN_PARAMETER_WORDS: return are_words(parameter->words, text, any_case);
    case SN_PARAMETER_TIME: return sn_query_time(text, &unused);
    case SN_PARAMETER_SECONDS: return is_seconds(parameter, text);
    }
    return false;
}

/* --- the query --- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool sn_query_decode(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        if (*at != '%') {
            *to++ = (char)(*at == '+' ? ' ' : *at);
            continue;
        }
        int high = digit_of(at[1]);
        int low = high < 0 ? -1 : digit_of(at[2]);
        if (low < 0 || high + low == 0)
            return false;
        *to++ = (char)(high * 16 + low);
        at += 2;
    }
    *to = 0;
    return true;
}

static bool problem(struct sn_query_problem *to, const char *member, const char *text)
{
    (void)snprintf(to->member, sizeof(to->member), "%s", member);
    (void)snprintf(to->text, sizeof(to->text), "%s", text);
    return false;
}

static void describe(const struct sn_parameter *parameter, char *to, size_t size)
{
    switch (parameter->kind) {
    case SN_PARAMETER_NUMBER:
        (void)snprintf(to, size, "a whole number from %lld to %lld", (long long)parameter->min,
                       (long long)parameter->max);
        break;
    case SN_PARAMETER_WORD: (void)snprintf(to, size, "one of %s", parameter->words); break;
    case SN_PARAMETER_WORDS:
        (void)snprintf(to, size, "a list, with commas, of %s", parameter->words);
        break;
    case SN_PARAMETER_FLAG: (void)snprintf(to, size, "true or false"); break;
    case SN_PARAMETER_GUID: (void)snprintf(to, size, "a GUID"); break;
    case SN_PARAMETER_TIME:
        (void)snprintf(
            to, size,
            "a time, such as 2026-01-31T12:00:00Z, seconds since 1970, or -5m for so long ago");
        break;
    case SN_PARAMETER_SECONDS:
        (void)snprintf(to, size, "a number of seconds from %lld to %lld", (long long)parameter->min,
                       (long long)parameter->max);
        break;
    case SN_PARAMETER_TEXT: (void)snprintf(to, size, "text"); break;
    }
}

static bool check(const struct sn_route *route, const struct sn_parameter *parameter,
                  const char *value, struct sn_query_problem *ret_problem)
{
    char kind[128];
    char text[sizeof(ret_problem->text)];
    if (!value)
        return !parameter->is_required || problem(ret_problem, parameter->name, "it is required");
    if (is_fit(route, parameter, value))
        return true;
    describe(parameter, kind, sizeof(kind));
    (void)snprintf(text, sizeof(text), "the value '%.40s' is not %s", value, kind);
    return problem(ret_problem, parameter->name, text);
}

/* Those that the query may have; the path's are not among them. */
static bool no_such(const struct sn_route *route, const char *name,
                    struct sn_query_problem *ret_problem)
{
    char text[sizeof(ret_problem->text)];
    char variable[64];
    const struct sn_parameter *parameters = route->parameters;
    size_t used = (size_t)snprintf(text, sizeof(text), "there is no such parameter");
    const char *before = "; there are ";
    for (size_t i = 0; parameters && parameters[i].name && used < sizeof(text); i++) {
        (void)snprintf(variable, sizeof(variable), "{%s}", parameters[i].name);
        if (strstr(route->path, variable))
            continue;
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", before, parameters[i].name);
        before = ", ";
    }
    return problem(ret_problem, name, text);
}

/* One name=value. */
static bool take_pair(const struct sn_route *route, char *pair, const char **values,
                      struct sn_query_problem *ret_problem)
{
    bool is_native = sn_query_is_native(route);
    char *value = pair + strcspn(pair, "=");
    bool has_value = *value != 0;
    *value = 0;
    value += has_value;
    if (!sn_query_decode(pair) || !sn_query_decode(value))
        return problem(ret_problem, "query", "it has an escape that cannot be read");
    int index = find_parameter(route, pair, strlen(pair), !is_native);
    if (index < 0)
        return !is_native || no_such(route, pair, ret_problem);
    if (values[index])
        return !is_native || problem(ret_problem, pair, "it is given twice");
    /* Empty is as good as not given, but for text. */
    if (*value || route->parameters[index].kind == SN_PARAMETER_TEXT)
        values[index] = value;
    return true;
}

bool sn_query_read(const struct sn_route *route, char *query, const char **values,
                   struct sn_query_problem *ret_problem)
{
    char *rest = query;
    for (char *pair; (pair = strsep(&rest, "&"));) {
        if (*pair && !take_pair(route, pair, values, ret_problem))
            return false;
    }
    const struct sn_parameter *parameters = route->parameters;
    for (size_t i = 0; parameters && parameters[i].name && i < SN_QUERY_VALUES_MAX; i++) {
        if (!check(route, &parameters[i], values[i], ret_problem))
            return false;
        if (!values[i])
            values[i] = parameters[i].standard;
    }
    return true;
}
