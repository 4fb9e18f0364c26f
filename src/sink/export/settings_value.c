#include "sink/export/settings_value.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "base/quantity.h"
#include "base/text.h"

#define WORD_MAX     64u
#define VARIABLE_MAX 128u

/* --- kinds --- */

static bool is_among(const char *words, const char *value, size_t size)
{
    while (*words) {
        size_t word = strcspn(words, " ");
        if (word == size && strncmp(words, value, size) == 0)
            return true;
        words += word + (words[word] == ' ');
    }
    return false;
}

static bool read_flag(const char *value, uint64_t *ret_number)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcasecmp(words[i], value) == 0) {
            *ret_number = i & 1;
            return true;
        }
    }
    return false;
}

static bool has_port(const char *place)
{
    const char *colon = strrchr(place, ':');
    uint64_t port;
    return colon && sn_text_to_u64(colon + 1, 65535, &port) && !strchr(place, ' ');
}

static bool is_url(const char *value, const char *schemes)
{
    const char *place = strstr(value, "://");
    if (!place || !is_among(schemes, value, (size_t)(place - value)) || strpbrk(value, " \t"))
        return false;
    if (memchr(place + 3, '@', strcspn(place + 3, "/"))) /* secrets are for headers */
        return false;
    if (strncmp(value, "unix", 4) == 0)
        return place[3] == '/' && place[4];
    if (strncmp(value, "http", 4) == 0)
        return place[3] && place[3] != '/';
    return place[3] != ':' && has_port(place + 3);
}

static void say_one_of(struct sn_buf *reason, const char *what, const char *words)
{
    sn_buf_text(reason, what);
    for (const char *at = words; *at;) {
        size_t size = strcspn(at, " ");
        bool is_last = !at[size];
        sn_buf_text(reason, at == words ? "" : is_last ? " or " : ", ");
        sn_buf_append(reason, at, size);
        at += size + !is_last;
    }
}

static void say_expected(const struct sn_setting_key *key, struct sn_buf *reason)
{
    switch (key->type) {
    case SN_SETTING_NUMBER: sn_buf_text(reason, "a whole number"); break;
    case SN_SETTING_BYTES: sn_buf_text(reason, "a size such as 4MiB or 500KB"); break;
    case SN_SETTING_DURATION: sn_buf_text(reason, "a duration such as 5s, 500ms or 1m30s"); break;
    case SN_SETTING_FLAG: sn_buf_text(reason, "yes or no"); break;
    case SN_SETTING_CHOICE: say_one_of(reason, "one of ", key->allowed); break;
    case SN_SETTING_URL:
        say_one_of(reason, "an address that begins with ", key->allowed);
        sn_buf_format(reason, ", such as %s", key->example);
        break;
    case SN_SETTING_ADDRESS: sn_buf_text(reason, "an address such as 127.0.0.1:9464"); break;
    default: sn_buf_text(reason, "a value"); break;
    }
}

bool sn_setting_read(const struct sn_setting_key *key, const char *value, uint64_t *ret_number,
                     struct sn_buf *reason)
{
    uint64_t number = 0;
    bool is_good = value[0] != '\0';
    switch (key->type) {
    case SN_SETTING_NUMBER: is_good = sn_text_to_u64(value, UINT32_MAX, &number); break;
    case SN_SETTING_BYTES: is_good = sn_quantity_bytes(value, &number) && number; break;
    case SN_SETTING_DURATION: is_good = sn_quantity_duration(value, &number) && number; break;
    case SN_SETTING_FLAG: is_good = read_flag(value, &number); break;
    case SN_SETTING_CHOICE:
        is_good = is_good && is_among(key->allowed, value, strlen(value));
        break;
    case SN_SETTING_URL: is_good = is_url(value, key->allowed); break;
    case SN_SETTING_ADDRESS: is_good = has_port(value); break;
    case SN_SETTING_TEXT: is_good = true; break; /* no prefix at all is a prefix */
    case SN_SETTING_LIST:
    case SN_SETTING_LINES: break;
    }
    if (is_good)
        *ret_number = number;
    else
        say_expected(key, reason);
    return is_good;
}

/* --- ${NAME} --- */

bool sn_setting_expand(const char *value, struct sn_buf *to, struct sn_buf *reason)
{
    for (const char *open; (open = strstr(value, "${")); value = strchr(open, '}') + 1) {
        char name[VARIABLE_MAX];
        size_t size = strcspn(open + 2, "}");
        if (!open[2 + size] || size == 0 || size >= sizeof(name)) {
            sn_buf_text(reason, "'${' begins the name of a variable that '}' must end");
            return false;
        }
        memcpy(name, open + 2, size);
        name[size] = '\0';
        const char *variable = getenv(name);
        if (!variable) {
            sn_buf_format(reason, "the environment has no variable '%s'", name);
            return false;
        }
        sn_buf_append(to, value, (size_t)(open - value));
        sn_buf_text(to, variable);
    }
    sn_buf_text(to, value);
    return true;
}

/* --- what was meant --- */

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* How many letters must be changed, added or taken away to make one of the other. */
static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t above = row[j];
            row[j] = least(row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[width];
}

const char *sn_setting_nearest(const char *given, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t length = strlen(given);
    size_t limit = length < 4 ? 1 : length / 2 < 3 ? 2 : 3;
    if (length > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t away = strlen(names[i]) > WORD_MAX ? limit + 1 : distance(given, names[i]);
        if (away <= limit) {
            best = names[i];
            limit = away ? away - 1 : 0;
        }
    }
    return best;
}
