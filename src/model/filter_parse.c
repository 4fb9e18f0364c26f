/* Reads conditions: operators wait on a stack of our own until what binds tighter is done, so that
 * no input makes us recurse. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "model/event_filter.h"

#define NESTING_MAX 64u
#define OPEN        0x90u /* a parenthesis on the stack */

/* Unescaped texts are no longer than the condition; UTF-16 takes at most twice as much. Each ends
 * with zeros. */
#define TEXT_ROOM (SN_FILTER_TEXT_MAX * 4u + SN_FILTER_COMPARISON_MAX * 8u)

struct parser {
    struct sn_event_filter *filter;
    const char *text;
    size_t at;
    struct sn_buf room; /* of filter->texts, never moved */
    struct sonde_error *err;
    unsigned waiting_count;
    uint8_t waiting[NESTING_MAX];   /* operators and parentheses */
    size_t waiting_at[NESTING_MAX]; /* where they stand */
};

static int refuse(const struct parser *parser, size_t at, const char *why)
{
    return sn_fail(parser->err, SONDE_E_ARGUMENT, at, "%s at character %zu of '%.200s'", why,
                   at + 1, parser->text);
}

/* --- words --- */

static void skip_space(struct parser *parser)
{
    while (parser->text[parser->at] && strchr(" \t\r\n", parser->text[parser->at]))
        parser->at++;
}

static bool is_bare(char c)
{
    return c && !strchr(" \t\r\n()!=<>&|~\"'", c);
}

/* A word on its way into the arena. */
struct word {
    const char *text; /* ended by a zero */
    size_t size;
    size_t at; /* where it began */
    bool is_quoted;
};

/* A backslash takes away the meaning of a quote and of itself, of nothing else. */
static int take_quoted(struct parser *parser)
{
    size_t start = parser->at;
    char quote = parser->text[parser->at++];
    for (;; parser->at++) {
        char c = parser->text[parser->at];
        if (!c)
            return refuse(parser, start, "this quote is not closed");
        if (c == quote)
            break;
        char next = parser->text[parser->at + 1];
        if (c == '\\' && (next == quote || next == '\\')) {
            parser->at++;
            c = next;
        }
        sn_buf_u8(&parser->room, (uint8_t)c);
    }
    parser->at++;
    return SONDE_OK;
}

static int take_word(struct parser *parser, const char *expected, struct word *ret_word)
{
    skip_space(parser);
    size_t begin = parser->room.size;
    char first = parser->text[parser->at];
    *ret_word =
        (struct word){.text = "", .at = parser->at, .is_quoted = first == '"' || first == '\''};
    if (!ret_word->is_quoted && !is_bare(first))
        return refuse(parser, parser->at, expected);
    if (ret_word->is_quoted) {
        int rc = take_quoted(parser);
        if (rc != SONDE_OK)
            return rc;
    }
    while (!ret_word->is_quoted && is_bare(parser->text[parser->at]))
        sn_buf_u8(&parser->room, (uint8_t)parser->text[parser->at++]);
    ret_word->size = parser->room.size - begin;
    sn_buf_u8(&parser->room, 0);
    ret_word->text = (const char *)parser->room.bytes + begin;
    return SONDE_OK;
}

/* Whether the keyword stands here as a word of its own, in which case it is eaten. */
static bool take_keyword(struct parser *parser, const char *keyword)
{
    size_t size = strlen(keyword);
    const char *at = parser->text + parser->at;
    if (strncasecmp(at, keyword, size) != 0 || is_bare(at[size]))
        return false;
    parser->at += size;
    return true;
}

static bool take_sign(struct parser *parser, const char *sign)
{
    size_t size = strlen(sign);
    if (strncmp(parser->text + parser->at, sign, size) != 0)
        return false;
    parser->at += size;
    return true;
}

/* --- comparisons --- */

static const char *const subject_names[SN_FILTER_SUBJECT_COUNT] = {
    [SN_FILTER_PAYLOAD] = "",
    [SN_FILTER_PROVIDER] = "provider",
    [SN_FILTER_NAME] = "name",
    [SN_FILTER_LEVEL] = "level",
    [SN_FILTER_ID] = "id",
    [SN_FILTER_VERSION] = "version",
    [SN_FILTER_OPCODE] = "opcode",
    [SN_FILTER_KEYWORDS] = "keywords",
    [SN_FILTER_THREAD] = "thread",
    [SN_FILTER_PID] = "pid",
    [SN_FILTER_ACTIVITY] = "activity",
    [SN_FILTER_RELATED] = "related",
};

static int take_subject(struct parser *parser, const struct word *word,
                        struct sn_filter_comparison *comparison)
{
    comparison->path = word->text;
    comparison->path_size = (uint16_t)word->size;
    if (word->is_quoted || word->text[0] != '@')
        return word->size ? SONDE_OK : refuse(parser, word->at, "a field needs a name");
    for (unsigned i = SN_FILTER_PROVIDER; i < SN_FILTER_SUBJECT_COUNT; i++) {
        if (strcasecmp(word->text + 1, subject_names[i]) == 0) {
            comparison->subject = (uint8_t)i;
            return SONDE_OK;
        }
    }
    return refuse(parser, word->at,
                  "there are @provider, @name, @level, @id, @version, @opcode, @keywords, @thread, "
                  "@pid, @activity and @related, not this");
}

/* The longest first. */
static const struct {
    const char *sign;
    enum sn_filter_op op;
} signs[] = {
    {"==", SN_FILTER_EQUAL},  {"!=", SN_FILTER_UNEQUAL}, {"=~", SN_FILTER_LIKE},
    {"!~", SN_FILTER_UNLIKE}, {"<=", SN_FILTER_AT_MOST}, {">=", SN_FILTER_AT_LEAST},
    {"<", SN_FILTER_LESS},    {">", SN_FILTER_MORE},     {"=", SN_FILTER_EQUAL},
};

static enum sn_filter_op take_op(struct parser *parser)
{
    skip_space(parser);
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (take_sign(parser, signs[i].sign))
            return signs[i].op;
    return SN_FILTER_THERE;
}

/* Levels have names too. */
static void name_level(struct sn_filter_value *value)
{
    static const char *const names[] = {"logalways", "critical",      "error",
                                        "warning",   "informational", "verbose"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(value->text, names[i]) == 0) {
            value->number = (long double)i;
            value->has_number = true;
        }
    }
}

static int take_value(struct parser *parser, struct sn_filter_comparison *comparison)
{
    struct word word;
    int rc = take_word(parser, "a value is missing", &word);
    if (rc != SONDE_OK)
        return rc;
    struct sn_filter_value *value = &comparison->value;
    sn_filter_value_read(value, word.text, word.size, word.is_quoted);
    if (comparison->subject == SN_FILTER_LEVEL)
        name_level(value);
    size_t begin = parser->room.size + (parser->room.size & 1u); /* UTF-16 on even places */
    sn_buf_fill(&parser->room, 0, begin - parser->room.size);
    sn_text_to_utf16(&parser->room, word.text, word.size);
    value->text16 = parser->room.bytes + begin;
    value->size16 = parser->room.size - begin;
    return SONDE_OK;
}

static int add_step(struct parser *parser, uint8_t step)
{
    struct sn_event_filter *filter = parser->filter;
    if (filter->step_count == SN_FILTER_STEP_MAX)
        return refuse(parser, parser->at, "the condition has too many parts");
    filter->steps[filter->step_count++] = step;
    return SONDE_OK;
}

static int take_comparison(struct parser *parser)
{
    struct sn_event_filter *filter = parser->filter;
    struct word word;
    if (filter->comparison_count == SN_FILTER_COMPARISON_MAX)
        return refuse(parser, parser->at, "there can be 64 comparisons; this is one more");
    int rc = take_word(parser, "a field is missing", &word);
    if (rc != SONDE_OK)
        return rc;
    struct sn_filter_comparison *comparison = &filter->comparisons[filter->comparison_count];
    rc = take_subject(parser, &word, comparison);
    if (rc != SONDE_OK)
        return rc;
    comparison->op = (uint8_t)take_op(parser);
    if (comparison->op != SN_FILTER_THERE)
        rc = take_value(parser, comparison);
    return rc == SONDE_OK ? add_step(parser, filter->comparison_count++) : rc;
}

/* --- operators --- */

static int wait(struct parser *parser, uint8_t operator, size_t at)
{
    if (parser->waiting_count == NESTING_MAX)
        return refuse(parser, at, "the condition nests too deep");
    parser->waiting_at[parser->waiting_count] = at;
    parser->waiting[parser->waiting_count++] = operator;
    return SONDE_OK;
}

static uint8_t last_waiting(const struct parser *parser)
{
    return parser->waiting_count ? parser->waiting[parser->waiting_count - 1] : OPEN;
}

/* Does what binds at least as tight as `operator`: not before and before or. */
static int release(struct parser *parser, uint8_t operator)
{
    int rc = SONDE_OK;
    while (rc == SONDE_OK && last_waiting(parser) != OPEN &&
           (last_waiting(parser) == SN_FILTER_NOT || last_waiting(parser) <= operator))
        rc = add_step(parser, parser->waiting[--parser->waiting_count]);
    return rc;
}

/* Before a comparison: any number of "not" and "(". */
static int take_operand(struct parser *parser)
{
    for (;;) {
        skip_space(parser);
        size_t at = parser->at;
        int rc;
        if (take_sign(parser, "("))
            rc = wait(parser, OPEN, at);
        else if (take_sign(parser, "!") || take_keyword(parser, "not"))
            rc = wait(parser, SN_FILTER_NOT, at);
        else
            return take_comparison(parser);
        if (rc != SONDE_OK)
            return rc;
    }
}

static int close_parenthesis(struct parser *parser, size_t at)
{
    int rc = release(parser, SN_FILTER_OR);
    if (rc != SONDE_OK)
        return rc;
    if (!parser->waiting_count)
        return refuse(parser, at, "there is no ( for this )");
    parser->waiting_count--;
    return SONDE_OK;
}

/* Behind a comparison: any number of ")", then an operator, or the end: SONDE_END. */
static int take_operator(struct parser *parser)
{
    for (;;) {
        skip_space(parser);
        size_t at = parser->at;
        int rc;
        if (!parser->text[at])
            return SONDE_END;
        if (!take_sign(parser, ")")) {
            bool is_and = take_sign(parser, "&&") || take_keyword(parser, "and");
            if (!is_and && !take_sign(parser, "||") && !take_keyword(parser, "or"))
                return refuse(parser, at, "&& or || is missing");
            uint8_t operator= is_and ? SN_FILTER_AND : SN_FILTER_OR;
            rc = release(parser, operator);
            return rc == SONDE_OK ? wait(parser, operator, at) : rc;
        }
        rc = close_parenthesis(parser, at);
        if (rc != SONDE_OK)
            return rc;
    }
}

static int parse(struct parser *parser)
{
    int rc;
    do {
        rc = take_operand(parser);
        if (rc == SONDE_OK)
            rc = take_operator(parser);
    } while (rc == SONDE_OK);
    if (rc == SONDE_END)
        rc = release(parser, SN_FILTER_OR);
    if (rc == SONDE_OK && parser->waiting_count)
        return refuse(parser, parser->waiting_at[parser->waiting_count - 1],
                      "this ( is not closed");
    return rc;
}

int sn_filter_parse(struct sn_event_filter *filter, const char *text, struct sonde_error *err)
{
    if (strlen(text) > SN_FILTER_TEXT_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, SN_FILTER_TEXT_MAX,
                       "a condition has at most %u characters", SN_FILTER_TEXT_MAX);
    filter->texts = malloc(TEXT_ROOM);
    if (!filter->texts)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a condition");
    struct parser parser = {.filter = filter, .text = text, .err = err};
    parser.room = sn_buf_over(filter->texts, TEXT_ROOM);
    return parse(&parser);
}
