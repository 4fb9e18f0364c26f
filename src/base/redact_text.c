/* Free text without what looks like a secret. One pass, no recursion: at each place either
 * something that is to be hidden begins, or one character is copied.
 *
 *   login failed: Password=hunter2;Server=db    login failed: Password=[redacted];Server=db
 *   {"apiKey": "hunter2"}                       {"apiKey": "[redacted]"}
 *   GET https://u:p@host/x?user=1               GET https://[redacted]@host/x?user=[redacted]
 *   Authorization: Basic aHVudGVyMg==           Authorization: [redacted]
 */
#include "base/redact.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/redact_words.h"

#define NAME_MAX_SIZE 96u /* longer ones are looked at in parts */
#define TOKEN_START   16u
#define WORD_MAX      16u  /* no word that speaks of a secret is longer */
#define AHEAD_MAX     512u /* how far the end of a list's value is looked for */

struct redaction {
    struct sn_buf *to;
    const char *start;
    const char *at;
    const char *end;
    size_t hidden;
    const char *plain_end; /* up to here there is no word that speaks of a secret; or NULL */
    void (*found)(void *user, size_t at, size_t size); /* instead of `to`; or NULL */
    void *user;
};

static size_t left(const struct redaction *r)
{
    return (size_t)(r->end - r->at);
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r' || c == '\0';
}

/* Copies up to `until`. */
static void copy(struct redaction *r, const char *until)
{
    if (r->to)
        sn_buf_append(r->to, r->at, (size_t)(until - r->at));
    r->at = until;
}

/* Leaves out up to `until`; nothing is nothing to hide. */
static void hide(struct redaction *r, const char *until)
{
    if (until == r->at)
        return;
    if (r->to)
        sn_buf_text(r->to, SN_REDACT_HIDDEN);
    else if (r->found)
        r->found(r->user, (size_t)(r->at - r->start), (size_t)(until - r->at));
    r->hidden++;
    r->at = until;
}

/* --- secrets that show what they are --- */

static const char *end_of_token(const char *at, const char *end)
{
    while (at < end && (is_word(*at) || is_one_of(*at, "-.~+/=")))
        at++;
    return at;
}

/* Its beginning decides: what follows is looked at once, however many words it has. */
static bool take_token(struct redaction *r)
{
    const char *end = left(r) > TOKEN_START ? r->at + TOKEN_START : r->end;
    if (!sn_redact_words_is_token(r->at, (size_t)(end_of_token(r->at, end) - r->at)))
        return false;
    hide(r, end_of_token(r->at, r->end));
    return true;
}

/* "-----BEGIN RSA PRIVATE KEY-----" and all that follows, to its end or the text's. */
static bool take_private_key(struct redaction *r)
{
    static const char begin[] = "-----BEGIN ";
    static const char finish[] = "-----END ";
    if (left(r) < sizeof(begin) - 1 || memcmp(r->at, begin, sizeof(begin) - 1) != 0)
        return false;
    size_t ahead = left(r) < 64 ? left(r) : 64;
    if (!memmem(r->at, ahead, "PRIVATE KEY-----", 16))
        return false;
    const char *end = memmem(r->at, left(r), finish, sizeof(finish) - 1);
    const char *dashes = end ? memmem(end + 9, (size_t)(r->end - end) - 9, "-----", 5) : NULL;
    hide(r, dashes ? dashes + 5 : r->end);
    return true;
}

/* "Bearer abc", "Basic abc": what follows is the secret. */
static bool take_scheme(struct redaction *r)
{
    static const char *const schemes[] = {"Bearer ", "Basic ", "Negotiate "};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
        size_t size = strlen(schemes[i]);
        if (left(r) <= size || strncasecmp(r->at, schemes[i], size) != 0)
            continue;
        const char *end = end_of_token(r->at + size, r->end);
        if ((size_t)(end - r->at) < size + 8)
            return false;
        copy(r, r->at + size);
        hide(r, end);
        return true;
    }
    return false;
}

/* --- addresses --- */

static bool ends_address(char c)
{
    return (unsigned char)c <= ' ' || is_one_of(c, "\"'<>`|\\");
}

/* "user:password@" before the next slash. */
static void take_user(struct redaction *r)
{
    const char *sign = NULL;
    for (const char *c = r->at; c < r->end && !ends_address(*c) && *c != '/' && *c != '?'; c++)
        sign = *c == '@' ? c : sign;
    if (sign)
        hide(r, sign);
}

/* Behind "://": the user, and every value of the query. */
static void take_address(struct redaction *r)
{
    take_user(r);
    const char *end = r->at;
    while (end < r->end && !ends_address(*end) && !is_one_of(*end, "?;,"))
        end++;
    copy(r, end);
    if (end == r->end || *end != '?') /* settings may follow in the same list */
        return;
    while (r->at < r->end && !ends_address(*r->at) && *r->at != '#') {
        const char *value = r->at;
        while (value < r->end && !ends_address(*value) && *value != '=' && *value != '#')
            value++;
        if (value == r->end || *value != '=') {
            copy(r, value);
            return;
        }
        copy(r, value + 1);
        const char *stop = r->at;
        while (stop < r->end && !ends_address(*stop) && *stop != '&' && *stop != '#')
            stop++;
        hide(r, stop);
    }
}

/* --- names and their values --- */

static bool is_name(char c)
{
    return is_word(c) || c == '-' || c == '.' || c == ':';
}

/* The colons of "Logging:Token" belong to the name, the last of "Token:" does not. */
static const char *end_of_name(const struct redaction *r)
{
    const char *end = r->at;
    while (end < r->end && is_name(*end) && (size_t)(end - r->at) < NAME_MAX_SIZE)
        end++;
    const char *colon = memchr(r->at, ':', (size_t)(end - r->at));
    if (colon && sn_redact_words_end(r->at, (size_t)(colon - r->at)))
        return colon;
    while (end > r->at && end[-1] == ':')
        end--;
    return end;
}

/* Names that mean a secret, but are too short to look for within others. */
static bool is_short_secret(const char *name, size_t size)
{
    return (size == 3 && (strncasecmp(name, "key", 3) == 0 || strncasecmp(name, "sig", 3) == 0 ||
                          strncasecmp(name, "sas", 3) == 0 || strncasecmp(name, "pin", 3) == 0)) ||
           (size == 4 && strncasecmp(name, "pass", 4) == 0);
}

static bool is_header(const char *name, size_t size)
{
    return (size >= 6 && strncasecmp(name + size - 6, "cookie", 6) == 0) ||
           (size >= 13 && strncasecmp(name + size - 13, "authorization", 13) == 0);
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

/* Behind a quoted value; `at` is behind its quote. A backslash keeps the next character in it, a
 * doubled quote is one of it. */
static const char *end_of_quoted(const char *at, const char *end, char quote)
{
    for (; at < end; at++) {
        bool is_pair = at + 1 < end && (*at == '\\' || (*at == quote && at[1] == quote));
        if (is_pair)
            at++;
        else if (*at == quote)
            return at;
    }
    return end;
}

/* A quote, or the backslash before one: text within JSON stays JSON. */
static bool is_quote(const char *at, const char *end)
{
    return *at == '"' || *at == '\'' || (*at == '\\' && at + 1 < end && at[1] != '\\');
}

/* In "Pwd=a b;Server=x" a value goes on to the semicolon, with a name and '=' or nothing behind. */
static const char *end_in_list(const char *at, const char *end)
{
    if ((size_t)(end - at) > AHEAD_MAX)
        end = at + AHEAD_MAX;
    for (; at < end && !is_line_end(*at) && !is_quote(at, end); at++) {
        if (*at != ';')
            continue;
        const char *next = skip_blanks(at + 1, end);
        while (next < end && (is_name(*next) || is_blank(*next)))
            next++;
        if (next == end || *next == '=' || is_line_end(*next) || *next == '"' || *next == '\'')
            return at;
    }
    return NULL;
}

static const char *end_of_plain(const char *at, const char *end)
{
    while (at < end && !is_line_end(*at) && !is_one_of(*at, " \t,;&<>)}]") && !is_quote(at, end))
        at++;
    return at;
}

static const char *end_of_header(const char *at, const char *end)
{
    while (at < end && !is_line_end(*at) && !is_quote(at, end))
        at++;
    return at;
}

/* At the value: hides it. */
static void take_value(struct redaction *r, char separator, bool is_whole_line)
{
    if (r->at < r->end && (*r->at == '"' || *r->at == '\'')) {
        char quote = *r->at;
        copy(r, r->at + 1);
        hide(r, end_of_quoted(r->at, r->end, quote));
        return;
    }
    if (r->at + 1 < r->end && *r->at == '\\' && r->at[1] == '"') { /* JSON within a text of JSON */
        copy(r, r->at + 2);
        const char *close = memmem(r->at, left(r), "\\\"", 2);
        hide(r, close ? close : r->end);
        return;
    }
    const char *end = is_whole_line ? end_of_header(r->at, r->end) : NULL;
    if (!end && separator == '=')
        end = end_in_list(r->at, r->end);
    hide(r, end ? end : end_of_plain(r->at, r->end));
}

/* Behind the name: an '=' or ':' with blanks and the quote of the name around it; or, for an
 * option, the blank before its value. False: nothing of the kind. */
static bool find_separator(const struct redaction *r, const char *name_end, bool is_option,
                           const char **ret_value, char *ret_separator)
{
    const char *at = name_end;
    if (at + 1 < r->end && *at == '\\' && at[1] == '"')
        at += 2;
    else if (at < r->end && (*at == '"' || *at == '\'' || *at == ']'))
        at++;
    at = skip_blanks(at, r->end);
    if (at < r->end && (*at == '=' || *at == ':')) {
        *ret_separator = *at;
        at++;
        if (at < r->end && *at == '>') /* "Token => x" */
            at++;
        *ret_value = skip_blanks(at, r->end);
        return true;
    }
    *ret_separator = ' ';
    *ret_value = at;
    return is_option && at > name_end && at < r->end && *at != '-';
}

/* Whether a word in the name does. Names begin within others: each part is looked at once. */
static bool speaks_of_secret(struct redaction *r, const char *name, const char *end)
{
    const char *from = name;
    if (r->plain_end && r->plain_end > name + WORD_MAX)
        from = r->plain_end - WORD_MAX;
    if (from >= end)
        return false;
    if (sn_redact_words_end(from, (size_t)(end - from)))
        return true;
    r->plain_end = end;
    return false;
}

/* A name and, if it speaks of a secret, its value. */
static void take_name(struct redaction *r)
{
    const char *name = r->at;
    const char *end = end_of_name(r);
    size_t size = (size_t)(end - name);
    const char *value;
    char separator;
    bool is_option = name > r->start && name[-1] == '-';
    bool has_word = speaks_of_secret(r, name, end) || is_header(name, size);
    bool has_separator = find_separator(r, end, is_option && has_word, &value, &separator);
    if (has_separator && (has_word || (separator == '=' && is_short_secret(name, size)))) {
        copy(r, value);
        take_value(r, separator, is_header(name, size));
        return;
    }
    const char *word = name;
    while (word < end && is_word(*word))
        word++;
    copy(r, word > name ? word : name + 1);
}

static size_t walk(struct redaction r)
{
    while (r.at < r.end) {
        bool is_start = r.at == r.start || !is_word(r.at[-1]);
        if (left(&r) > 3 && memcmp(r.at, "://", 3) == 0) {
            copy(&r, r.at + 3);
            take_address(&r);
        } else if (*r.at == '-' ? take_private_key(&r)
                                : is_start && (take_token(&r) || take_scheme(&r))) {
            continue;
        } else if (is_word(*r.at)) {
            take_name(&r);
        } else {
            copy(&r, r.at + 1);
        }
    }
    return r.hidden;
}

size_t sn_redact_text(struct sn_buf *to, const char *text, size_t size)
{
    return walk((struct redaction){.to = to, .start = text, .at = text, .end = text + size});
}

size_t sn_redact_find(const char *text, size_t size,
                      void (*found)(void *user, size_t at, size_t size), void *user)
{
    return walk((struct redaction){
        .start = text, .at = text, .end = text + size, .found = found, .user = user});
}
