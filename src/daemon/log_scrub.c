#include "daemon/log_scrub.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/redact.h"
#include "base/redact_words.h"
#include "sonde/log.h"

#define MEMORY_MAX (8u << 20)
#define TEXT_MAX   (4u << 20)
#define FOUND_MAX  64u /* a text with more secrets is nothing but secrets */
#define SHORT_MAX  3u  /* a secret as short stands in a text by chance */

void sn_log_scrub_done(struct sn_log_scrub *scrub)
{
    sn_arena_done(&scrub->arena);
}

/* Queries stand by themselves here, without the address that shows what they are. */
static bool is_query(const struct sonde_log_value *value)
{
    return strcasestr(value->name, "query") && (value->text[0] == '?' || strchr(value->text, '='));
}

static bool is_secret(const struct sonde_log_value *value)
{
    return value->text && value->text[0] &&
           (sn_redact_words_end(value->name, strlen(value->name)) ||
            strcasestr(value->name, "cookie") || is_query(value));
}

/* --- texts --- */

/* Where a value that is hidden begins in `text`; NULL: none does. The longest of those counts. */
static const char *find_value(const char *text, const struct sonde_log_value *values, size_t count,
                              size_t *ret_size)
{
    const char *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *found = is_secret(&values[i]) && strlen(values[i].text) > SHORT_MAX
                                ? strstr(text, values[i].text)
                                : NULL;
        size_t size = found ? strlen(values[i].text) : 0;
        if (found && (!first || found < first || (found == first && size > *ret_size))) {
            first = found;
            *ret_size = size;
        }
    }
    return first;
}

static const char *hide(struct sn_log_scrub *scrub)
{
    scrub->has_hidden = true;
    return SN_REDACT_HIDDEN;
}

static const char *scrub_text(struct sn_log_scrub *scrub, const char *text,
                              const struct sonde_log_message *message)
{
    SN_AUTO(sn_buf_done) struct sn_buf known = sn_buf_with_limit(TEXT_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(TEXT_MAX);
    size_t size = 0;
    unsigned count = 0;
    if (!text || !*text)
        return text;
    for (const char *at = text; *at;) {
        if (++count > FOUND_MAX)
            return hide(scrub);
        const char *found = find_value(at, message->values, message->value_count, &size);
        sn_buf_append(&known, at, found ? (size_t)(found - at) : strlen(at));
        if (!found)
            break;
        sn_buf_text(&known, hide(scrub));
        at = found + size;
    }
    scrub->has_hidden |= sn_redact_text(&out, (const char *)known.bytes, known.size) > 0;
    const char *copy =
        known.failed || out.failed ? NULL : sn_arena_copy(&scrub->arena, out.bytes, out.size);
    return copy ? copy : hide(scrub);
}

/* --- values --- */

static const struct sonde_log_value *scrub_values(struct sn_log_scrub *scrub,
                                                  const struct sonde_log_value *values,
                                                  size_t *count,
                                                  const struct sonde_log_message *message)
{
    struct sonde_log_value *copy =
        *count ? sn_arena_alloc(&scrub->arena, *count * sizeof(*copy)) : NULL;
    if (!copy) {
        scrub->has_hidden |= *count > 0;
        *count = 0;
        return NULL;
    }
    for (size_t i = 0; i < *count; i++) {
        copy[i] = values[i];
        copy[i].text =
            is_secret(&values[i]) ? hide(scrub) : scrub_text(scrub, values[i].text, message);
    }
    return copy;
}

static void scrub_scopes(struct sn_log_scrub *scrub, const struct sonde_log_message *message,
                         struct sonde_log_message *out)
{
    struct sonde_log_scope *copy =
        message->scope_count ? sn_arena_alloc(&scrub->arena, message->scope_count * sizeof(*copy))
                             : NULL;
    scrub->has_hidden |= message->scope_count && !copy;
    out->scopes = copy;
    out->scope_count = copy ? message->scope_count : 0;
    for (size_t i = 0; i < out->scope_count; i++) {
        const struct sonde_log_scope *scope = &message->scopes[i];
        const struct sonde_log_message own = {.values = scope->values,
                                              .value_count = scope->value_count};
        copy[i] = *scope;
        copy[i].text = scrub_text(scrub, scope->text, &own);
        copy[i].values = scrub_values(scrub, scope->values, &copy[i].value_count, &own);
    }
}

void sn_log_scrub_message(struct sn_log_scrub *scrub, const struct sonde_log_message *message,
                          struct sonde_log_message *ret_message)
{
    sn_arena_done(&scrub->arena);
    scrub->arena = sn_arena_with_limit(MEMORY_MAX);
    scrub->has_hidden = false;
    *ret_message = *message;
    ret_message->text = scrub_text(scrub, message->text, message);
    ret_message->format = scrub_text(scrub, message->format, message);
    ret_message->event_name = scrub_text(scrub, message->event_name, message);
    ret_message->exception_message = scrub_text(scrub, message->exception_message, message);
    ret_message->exception_text = scrub_text(scrub, message->exception_text, message);
    ret_message->values = scrub_values(scrub, message->values, &ret_message->value_count, message);
    scrub_scopes(scrub, message, ret_message);
}
