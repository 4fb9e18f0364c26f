/* Reads a flat JSON object, names and texts, as loggers write their arguments. The input is
 * hostile; nothing is allocated but in the caller's buffers. */
#ifndef SN_JSON_PAIRS_H
#define SN_JSON_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

struct sn_buf;

struct sn_json_pairs {
    const char *at; /* borrows */
    const char *end;
    bool is_inside; /* behind the opening brace */
    bool is_done;   /* behind the closing one */
    bool is_bad;    /* it is not such an object: what came so far is not to be trusted */
};

static inline struct sn_json_pairs sn_json_pairs_of(const char *text, size_t size)
{
    return (struct sn_json_pairs){.at = text, .end = text + size};
}

/* The next pair, decoded, in place of what the buffers held: UTF-8; broken escapes and zeros become
 * U+FFFD. A null makes *ret_is_null true; numbers and booleans come as they are written. False: no
 * more, or is_bad. */
bool sn_json_pairs_next(struct sn_json_pairs *pairs, struct sn_buf *name, struct sn_buf *value,
                        bool *ret_is_null);

#endif
