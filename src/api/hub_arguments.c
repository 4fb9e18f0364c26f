#include "api/hub_arguments.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"

#define DIAGNOSTIC_SOURCE "Microsoft-Diagnostics-DiagnosticSource"

bool sn_argument_next(const char **text, struct sn_argument *ret_argument)
{
    const char *at = *text + strspn(*text, "; ");
    if (!*at)
        return false;
    const char *equals = NULL;
    const char *end = at;
    for (bool is_quoted = false; *end && (is_quoted || *end != ';'); end++) {
        is_quoted ^= *end == '"';
        if (*end == '=' && !equals && !is_quoted)
            equals = end;
    }
    const char *key_end = equals ? equals : end;
    const char *value = equals ? equals + 1 : end;
    *ret_argument = (struct sn_argument){at, (size_t)(key_end - at), value, (size_t)(end - value)};
    *text = end;
    return true;
}

static bool has_key(const struct sn_argument *argument, const char *key)
{
    return argument->key_size == strlen(key) &&
           strncasecmp(argument->key, key, argument->key_size) == 0;
}

bool sn_argument_find(const char *text, const char *key, struct sn_argument *ret_argument)
{
    while (text && sn_argument_next(&text, ret_argument)) {
        if (has_key(ret_argument, key))
            return true;
    }
    return false;
}

/* Digits with a point and nothing else: what every runtime reads the same, in every culture that
 * knows the point. */
static double number_of(const struct sn_argument *argument)
{
    double number = 0;
    double scale = 0;
    for (size_t i = 0; i < argument->value_size; i++) {
        char c = argument->value[i];
        if (c == '.' && scale == 0) {
            scale = 1;
        } else if (c >= '0' && c <= '9') {
            number = number * 10 + (c - '0');
            scale *= 10;
        } else if (c != '"') {
            return 0;
        }
    }
    number /= scale > 0 ? scale : 1;
    return isfinite(number) ? number : 0;
}

double sn_argument_number(const char *text, const char *key)
{
    struct sn_argument argument;
    return sn_argument_find(text, key, &argument) ? number_of(&argument) : 0;
}

static void put(struct sn_buf *to, const char *key, size_t key_size, const char *value,
                size_t value_size)
{
    if (to->size)
        sn_buf_u8(to, ';');
    sn_buf_append(to, key, key_size);
    sn_buf_u8(to, '=');
    sn_buf_append(to, value, value_size);
}

static void put_argument(struct sn_buf *to, const struct sn_argument *argument)
{
    put(to, argument->key, argument->key_size, argument->value, argument->value_size);
}

void sn_argument_put(struct sn_buf *to, const char *key, const char *value)
{
    put(to, key, strlen(key), value, strlen(value));
}

void sn_arguments_without(struct sn_buf *to, const char *text, const char *key)
{
    struct sn_argument argument;
    while (text && sn_argument_next(&text, &argument)) {
        if (!has_key(&argument, key))
            put_argument(to, &argument);
    }
}

/* --- joining --- */

enum rule {
    EQUAL,
    SMALLEST,
    LARGEST,
    LIST, /* items of either */
};

static const struct {
    const char *provider; /* NULL: any */
    const char *key;
    enum rule rule;
    char separator;         /* that joins items */
    const char *separators; /* that part them */
    bool must_be_in_both;   /* without it everything is meant, which a list would narrow */
} rules[] = {
    {NULL, SN_INTERVAL_KEY, SMALLEST, 0, NULL, false},
    {SN_METRICS_PROVIDER, "RefreshInterval", SMALLEST, 0, NULL, false},
    {SN_METRICS_PROVIDER, "MaxTimeSeries", LARGEST, 0, NULL, false},
    {SN_METRICS_PROVIDER, "MaxHistograms", LARGEST, 0, NULL, false},
    {SN_METRICS_PROVIDER, "Metrics", LIST, ',', ",;\r\n", false},
    {DIAGNOSTIC_SOURCE, "FilterAndPayloadSpecs", LIST, '\n', "\r\n", true},
    {SN_LOGGING_PROVIDER, "FilterSpecs", LIST, ';', ";", true},
};
#define RULE_COUNT (sizeof(rules) / sizeof(*rules))

/* RULE_COUNT: they must be equal. */
static size_t rule_of(const char *provider, const struct sn_argument *argument)
{
    size_t i = 0;
    while (i < RULE_COUNT &&
           !((!rules[i].provider || strcasecmp(rules[i].provider, provider) == 0) &&
             has_key(argument, rules[i].key)))
        i++;
    return i;
}

static struct sn_argument unquoted(struct sn_argument value)
{
    if (value.value_size >= 2 && value.value[0] == '"' &&
        value.value[value.value_size - 1] == '"') {
        value.value++;
        value.value_size -= 2;
    }
    return value;
}

/* Whether `item` is one of the first `size` bytes of `list`. */
static bool has_item(const uint8_t *list, size_t size, const char *separators, const char *item,
                     size_t item_size)
{
    for (size_t at = 0; at < size;) {
        size_t end = at;
        while (end < size && !strchr(separators, list[end]))
            end++;
        if (end - at == item_size && memcmp(list + at, item, item_size) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

static void add_items(struct sn_buf *to, size_t rule, const struct sn_argument *from)
{
    struct sn_argument list = unquoted(*from);
    for (size_t at = 0; at < list.value_size;) {
        size_t end = at;
        while (end < list.value_size && !strchr(rules[rule].separators, list.value[end]))
            end++;
        const char *item = list.value + at;
        if (end > at && !has_item(to->bytes, to->size, rules[rule].separators, item, end - at)) {
            if (to->size)
                sn_buf_u8(to, (uint8_t)rules[rule].separator);
            sn_buf_append(to, item, end - at);
        }
        at = end + 1;
    }
}

static void put_lists(struct sn_buf *to, size_t rule, const struct sn_argument *left,
                      const struct sn_argument *right)
{
    SN_AUTO(sn_buf_done) struct sn_buf list = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf quoted = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    add_items(&list, rule, left);
    size_t before = list.size;
    add_items(&list, rule, right);
    if (list.size == before) { /* nothing new: as it stood */
        put_argument(to, left);
        return;
    }
    sn_buf_format(&quoted, "\"%s\"", sn_buf_string(&list));
    to->failed |= list.failed || quoted.failed;
    put(to, left->key, left->key_size, (const char *)quoted.bytes, quoted.size);
}

static int refuse(const char *provider, const struct sn_argument *argument, const char *left,
                  size_t left_size, const struct sn_argument *right, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf shown = sn_buf_with_limit(4096);
    sn_text_printable(&shown, argument->key, argument->key_size);
    sn_buf_text(&shown, " \"");
    sn_text_printable(&shown, right->value, right->value_size);
    sn_buf_text(&shown, "\", which another consumer has as \"");
    sn_text_printable(&shown, left, left_size);
    return sn_fail(
        err, SONDE_E_ARGUMENT, 0,
        "provider %s of this process cannot be asked for %s\": a process has one setting", provider,
        sn_buf_string(&shown));
}

static int join_one(const char *provider, const struct sn_argument *left,
                    const struct sn_argument *right, struct sn_buf *to, struct sonde_error *err)
{
    size_t rule = rule_of(provider, left);
    bool is_equal = left->value_size == right->value_size &&
                    memcmp(left->value, right->value, left->value_size) == 0;
    if (is_equal) {
        put_argument(to, left);
        return SONDE_OK;
    }
    if (rule == RULE_COUNT)
        return refuse(provider, left, left->value, left->value_size, right, err);
    if (rules[rule].rule == LIST) {
        put_lists(to, rule, left, right);
        return SONDE_OK;
    }
    double difference = number_of(left) - number_of(right);
    bool is_left = rules[rule].rule == SMALLEST ? difference <= 0 : difference >= 0;
    put_argument(to, is_left ? left : right);
    return SONDE_OK;
}

/* One that only one side has. */
static int put_single(const char *provider, const struct sn_argument *argument, struct sn_buf *to,
                      struct sonde_error *err)
{
    size_t rule = rule_of(provider, argument);
    if (rule < RULE_COUNT && rules[rule].must_be_in_both)
        return refuse(provider, argument, "", 0, argument, err);
    put_argument(to, argument);
    return SONDE_OK;
}

static bool find_same(const char *text, const struct sn_argument *like, struct sn_argument *ret)
{
    while (text && sn_argument_next(&text, ret)) {
        if (ret->key_size == like->key_size &&
            strncasecmp(ret->key, like->key, like->key_size) == 0)
            return true;
    }
    return false;
}

int sn_arguments_join(const char *provider, const char *left, const char *right, struct sn_buf *to,
                      struct sonde_error *err)
{
    struct sn_argument argument;
    struct sn_argument other;
    int rc = SONDE_OK;
    for (const char *at = left; rc == SONDE_OK && at && sn_argument_next(&at, &argument);)
        rc = find_same(right, &argument, &other) ? join_one(provider, &argument, &other, to, err)
                                                 : put_single(provider, &argument, to, err);
    for (const char *at = right; rc == SONDE_OK && at && sn_argument_next(&at, &argument);) {
        if (!find_same(left, &argument, &other))
            rc = put_single(provider, &argument, to, err);
    }
    if (rc == SONDE_OK && to->failed)
        return sn_fail(err, SONDE_E_LIMIT, 0, "arguments of provider %s take over %u bytes",
                       provider, SN_ARGUMENTS_LIMIT);
    return rc;
}

/* Quotes stand around a whole value or nowhere: others would mean something else once joined. */
static bool has_odd_quotes(const struct sn_argument *argument)
{
    struct sn_argument inner = unquoted(*argument);
    return memchr(argument->key, '"', argument->key_size) ||
           memchr(inner.value, '"', inner.value_size);
}

int sn_arguments_normal(const char *provider, const char *text, struct sn_buf *to,
                        struct sonde_error *err)
{
    struct sn_argument argument;
    for (const char *at = text; at && sn_argument_next(&at, &argument);) {
        struct sn_argument again;
        if (has_odd_quotes(&argument) || !argument.key_size)
            return sn_fail(
                err, SONDE_E_ARGUMENT, 0,
                "arguments of provider %s are key=value or key=\"value\", with semicolons "
                "in between",
                provider);
        if (find_same(at, &argument, &again))
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "arguments of provider %s have %.*s twice",
                           provider, (int)argument.key_size, argument.key);
        put_argument(to, &argument);
    }
    if (to->failed)
        return sn_fail(err, SONDE_E_LIMIT, 0, "arguments of provider %s take over %u bytes",
                       provider, SN_ARGUMENTS_LIMIT);
    return SONDE_OK;
}
