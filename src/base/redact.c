#include "base/redact.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/redact_words.h"

#define HIDDEN SN_REDACT_HIDDEN

/* A piece of an argument. */
struct piece {
    const char *at;
    const char *end;
};

static size_t size_of(struct piece piece)
{
    return (size_t)(piece.end - piece.at);
}

/* Behind the first word that speaks of a secret; NULL: none does. */
static const char *end_of_secret_word(struct piece name)
{
    return sn_redact_words_end(name.at, size_of(name));
}

/* The user part of "scheme://user:password@host/": from behind the first slashes in `value` to the
 * at sign, which stands before any other slash and before `end`. */
static bool find_user_part(struct piece value, const char *end, struct piece *ret_user)
{
    const char *slashes = memmem(value.at, size_of(value), "://", 3);
    if (!slashes)
        return false;
    const char *at = slashes + 3;
    const char *sign = NULL;
    for (const char *c = at; c < end && *c != '/'; c++)
        sign = *c == '@' ? c : sign;
    if (!sign || !memchr(at, ':', (size_t)(sign - at)))
        return false;
    *ret_user = (struct piece){at, sign};
    return true;
}

static size_t put_value(struct sn_buf *to, struct piece value, bool is_secret)
{
    struct piece user;
    if (size_of(value) && (is_secret || sn_redact_words_is_token(value.at, size_of(value)))) {
        sn_buf_text(to, HIDDEN);
        return 1;
    }
    if (find_user_part(value, value.end, &user)) {
        sn_buf_append(to, value.at, (size_t)(user.at - value.at));
        sn_buf_text(to, HIDDEN);
        sn_buf_append(to, user.end, (size_t)(value.end - user.end));
        return 1;
    }
    sn_buf_append(to, value.at, size_of(value));
    return 0;
}

/* Where the value of a secret begins: behind the first '=' or ':' after a word that speaks of one,
 * as in "Logging:Token=x". The colon of an address, or of its port, is none of these. */
static const char *find_secret(struct piece setting)
{
    const char *address = memmem(setting.at, size_of(setting), "://", 3);
    const char *at = end_of_secret_word(setting);
    for (; at && at < setting.end; at++) {
        if (*at == '=' || (*at == ':' && (!address || at < address)))
            return at + 1;
    }
    return NULL;
}

/* Behind the quoted text at `from`, in which a doubled quote is one of it. */
static const char *end_of_quoted(const char *from, const char *end)
{
    const char *quote = memchr(from + 1, *from, (size_t)(end - from) - 1);
    while (quote && quote + 1 < end && quote[1] == *quote)
        quote = memchr(quote + 2, *from, (size_t)(end - quote) - 2);
    return quote ? quote + 1 : end;
}

/* Where a secret in a list of settings ends: at a ';' with another "Name=value" behind it. */
static const char *end_in_list(const char *from, const char *end)
{
    if (from < end && (*from == '"' || *from == '\''))
        from = end_of_quoted(from, end);
    for (;;) {
        const char *stop = memchr(from, ';', (size_t)(end - from));
        if (!stop)
            return end;
        const char *next = memchr(stop + 1, ';', (size_t)(end - stop) - 1);
        if (memchr(stop + 1, '=', (size_t)((next ? next : end) - stop) - 1))
            return stop;
        from = stop + 1;
    }
}

/* An argument on the way through its settings, "Name=value", "Name:value" or a value. */
struct walk {
    const char *start;
    const char *end;
    bool is_query; /* behind the '?' of an address: '&' ends any value */
};

static const char *end_of_setting(const char *at, const char *end)
{
    while (at < end && *at != ';' && *at != '&')
        at++;
    return at;
}

/* Slashes are looked for in this setting only: looking through all that follows, for each setting
 * again, takes seconds for an argument that somebody else chose. */
static struct piece next_setting(const struct walk *walk, const char *at)
{
    struct piece setting = {at, end_of_setting(at, walk->end)};
    struct piece user;
    if (find_user_part(setting, walk->end, &user)) /* a password may hold anything */
        setting.end = end_of_setting(user.end, walk->end);
    return setting;
}

/* A secret is all that follows its name, unless that stands in a query or behind other settings. */
static const char *end_of_secret(const struct walk *walk, const struct piece *setting,
                                 const char *value)
{
    if (walk->is_query || memchr(setting->at, '?', (size_t)(value - setting->at))) {
        const char *stop = memchr(value, '&', (size_t)(walk->end - value));
        return stop ? stop : walk->end;
    }
    return setting->at == walk->start ? walk->end : end_in_list(value, walk->end);
}

static size_t put_setting(struct sn_buf *to, const struct walk *walk, struct piece *setting)
{
    const char *value = find_secret(*setting);
    const char *equals = memchr(setting->at, '=', size_of(*setting));
    if (!value && !equals)
        return put_value(to, *setting, false);
    const char *from = value ? value : equals + 1;
    /* "db://user:password@host/?tls" is a name, too */
    size_t hidden = put_value(to, (struct piece){setting->at, from - 1}, false);
    sn_buf_append(to, from - 1, 1);
    if (value)
        setting->end = end_of_secret(walk, setting, value);
    return hidden + put_value(to, (struct piece){from, setting->end}, value != NULL);
}

static size_t put_argument(struct sn_buf *to, struct piece argument)
{
    struct walk walk = {argument.at, argument.end, false};
    size_t hidden = 0;
    for (const char *at = argument.at; at < argument.end;) {
        struct piece setting = next_setting(&walk, at);
        hidden += put_setting(to, &walk, &setting);
        walk.is_query |= memchr(at, '?', size_of(setting)) != NULL;
        if (setting.end < argument.end) {
            walk.is_query &= *setting.end == '&';
            sn_buf_append(to, setting.end++, 1);
        }
        at = setting.end;
    }
    return hidden;
}

/* An option whose value is the next argument. */
static bool is_secret_option(struct piece argument)
{
    return size_of(argument) > 1 && *argument.at == '-' &&
           !memchr(argument.at, '=', size_of(argument)) &&
           !memchr(argument.at, ':', size_of(argument)) && end_of_secret_word(argument);
}

size_t sn_redact_arguments(struct sn_buf *to, const char *arguments, size_t size)
{
    const char *end = arguments + size;
    bool next_is_secret = false;
    size_t hidden = 0;
    for (const char *at = arguments; at < end;) {
        const char *zero = memchr(at, '\0', (size_t)(end - at));
        struct piece argument = {at, zero ? zero : end};
        if (at > arguments)
            sn_buf_u8(to, ' ');
        hidden += next_is_secret ? put_value(to, argument, true) : put_argument(to, argument);
        /* What begins with '-' may be the secret, or an option whose own value is to come. */
        bool was_value = next_is_secret && *argument.at != '-';
        next_is_secret = !was_value && is_secret_option(argument);
        at = argument.end + 1;
    }
    return hidden;
}
