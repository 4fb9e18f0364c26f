/* Words that speak of secrets, and secrets that show what they are. */
#ifndef SN_REDACT_WORDS_H
#define SN_REDACT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#define SN_REDACT_HIDDEN "[redacted]"

/* Behind the first word that speaks of a secret; NULL: none does. Letters' case does not count. */
const char *sn_redact_words_end(const char *name, size_t size);

/* JSON web tokens, our own keys and those of large services: what they all begin with. */
bool sn_redact_words_is_token(const char *text, size_t size);

#endif
