#include "api/condition.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "sonde/profile.h"

#define DIGIT_MAX 15u /* what a double holds exactly */

struct parser {
    const char *text;
    const char *at;
    struct sonde_error *err;
};

static int refuse(const struct parser *parser, const char *at, const char *what)
{
    return sn_fail(parser->err, SONDE_E_ARGUMENT, (uint64_t)(at - parser->text),
                   "condition '%.128s': %s", parser->text, what);
}

static void skip_spaces(struct parser *parser)
{
    while (*parser->at == ' ' || *parser->at == '\t')
        parser->at++;
}

static bool take_word(struct parser *parser, const char *word)
{
    size_t size = strlen(word);
    if (strncmp(parser->at, word, size) != 0)
        return false;
    parser->at += size;
    return true;
}

static int parse_metric(struct parser *parser, struct sn_condition *condition)
{
    char name[16] = "";
    const char *start = parser->at;
    size_t size = strspn(start, "abcdefghijklmnopqrstuvwxyz");
    if (size < sizeof(name))
        memcpy(name, start, size);
    parser->at += size;
    condition->is_self = strcmp(name, "self") == 0;
    condition->view = sonde_view_find(name);
    if (condition->view < 0 && !condition->is_self && strcmp(name, "total") != 0)
        return refuse(parser, start,
                      "it begins with what is measured: total, self, cpu, wall, wait, alloc, "
                      "exceptions, contention or samples");
    return SONDE_OK;
}

static int parse_pattern(struct parser *parser, struct sn_condition *condition)
{
    if (*parser->at != '(')
        return refuse(parser, parser->at, "methods are missing: (Shop.*), or (*) for all");
    const char *start = ++parser->at;
    const char *end = strchr(start, ')');
    if (!end)
        return refuse(parser, parser->at + strlen(parser->at), "')' is missing behind the methods");
    if (end == start)
        return refuse(parser, start, "no method is named; (*) means all");
    condition->pattern = start;
    condition->pattern_size = (size_t)(end - start);
    parser->at = end + 1;
    return SONDE_OK;
}

static int parse_comparison(struct parser *parser, struct sn_condition *condition)
{
    static const struct {
        const char *word;
        enum sn_condition_comparison comparison;
    } words[] = {{">=", SN_CONDITION_AT_LEAST},
                 {"<=", SN_CONDITION_AT_MOST},
                 {">", SN_CONDITION_MORE},
                 {"<", SN_CONDITION_LESS}};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (take_word(parser, words[i].word)) {
            condition->comparison = words[i].comparison;
            return SONDE_OK;
        }
    }
    return refuse(parser, parser->at, "one of > >= < <= belongs here");
}

/* Digits with a point, in every locale. */
static int parse_number(struct parser *parser, double *ret_number)
{
    const char *start = parser->at;
    uint64_t digits = 0;
    unsigned count = 0;
    int fraction = 0;
    bool has_point = false;
    for (; isdigit((unsigned char)*parser->at) || (*parser->at == '.' && !has_point);
         parser->at++) {
        if (*parser->at == '.') {
            has_point = true;
            continue;
        }
        if (count++ == DIGIT_MAX)
            return refuse(parser, start, "the number has more than 15 digits");
        digits = digits * 10 + (uint64_t)(*parser->at - '0');
        fraction += has_point;
    }
    if (!count)
        return refuse(parser, start, "a number belongs here, as in +10%");
    double divisor = 1; /* a power of ten is exact up to DIGIT_MAX */
    for (; fraction > 0; fraction--)
        divisor *= 10;
    *ret_number = (double)digits / divisor;
    return SONDE_OK;
}

static int parse_unit(struct parser *parser, struct sn_condition *condition)
{
    static const struct {
        const char *word;
        enum sn_condition_unit unit;
        double factor;
    } words[] = {
        {"%", SN_CONDITION_PERCENT, 1},    {"pt", SN_CONDITION_POINTS, 1},
        {"ns/s", SN_CONDITION_NS, 1},      {"us/s", SN_CONDITION_NS, 1e3},
        {"ms/s", SN_CONDITION_NS, 1e6},    {"s/s", SN_CONDITION_NS, 1e9},
        {"B/s", SN_CONDITION_BYTES, 1},    {"KB/s", SN_CONDITION_BYTES, 1e3},
        {"MB/s", SN_CONDITION_BYTES, 1e6}, {"GB/s", SN_CONDITION_BYTES, 1e9},
        {"/s", SN_CONDITION_COUNT, 1},
    };
    skip_spaces(parser);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (take_word(parser, words[i].word)) {
            condition->unit = words[i].unit;
            condition->value *= words[i].factor;
            return SONDE_OK;
        }
    }
    return refuse(parser, parser->at,
                  "a unit belongs here: % pt ns/s us/s ms/s s/s B/s KB/s MB/s GB/s /s");
}

static int parse_value(struct parser *parser, struct sn_condition *condition)
{
    bool is_negative = *parser->at == '-';
    condition->is_change = is_negative || *parser->at == '+';
    parser->at += condition->is_change;
    int rc = parse_number(parser, &condition->value);
    if (rc == SONDE_OK)
        rc = parse_unit(parser, condition);
    if (rc == SONDE_OK && is_negative)
        condition->value = -condition->value;
    return rc;
}

int sn_condition_parse(const char *text, struct sn_condition *ret_condition,
                       struct sonde_error *err)
{
    static int (*const steps[])(struct parser * parser, struct sn_condition * condition) = {
        parse_metric, parse_pattern, parse_comparison, parse_value};
    struct parser parser = {.text = text, .at = text, .err = err};
    struct sn_condition condition = {0};
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        skip_spaces(&parser);
        int rc = steps[i](&parser, &condition);
        if (rc != SONDE_OK)
            return rc;
    }
    skip_spaces(&parser);
    if (*parser.at)
        return refuse(&parser, parser.at, "nothing belongs behind the unit");
    *ret_condition = condition;
    return SONDE_OK;
}

/* Backtracks to the last star only, so that no pattern takes more than size * size steps. */
bool sn_condition_matches(const struct sn_condition *condition, const char *name)
{
    const char *pattern = condition->pattern;
    const char *end = pattern + condition->pattern_size;
    const char *star = NULL;
    const char *resume = name;
    while (*name) {
        if (pattern < end && *pattern == '*') {
            star = pattern++;
            resume = name;
        } else if (pattern < end && *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}

bool sn_condition_holds(const struct sn_condition *condition, double number)
{
    switch (condition->comparison) {
    case SN_CONDITION_MORE: return number > condition->value;
    case SN_CONDITION_AT_LEAST: return number >= condition->value;
    case SN_CONDITION_LESS: return number < condition->value;
    default: return number <= condition->value;
    }
}
