#include "base/redact_words.h"

#include <string.h>
#include <strings.h>

static const char *const words[] = {
    "password",   "passwd",     "passphrase",   "passcode",   "pwd",         "secret",
    "token",      "apikey",     "api-key",      "api_key",    "accesskey",   "access-key",
    "access_key", "accountkey", "account-key",  "privatekey", "private-key", "private_key",
    "credential", "sharedkey",  "authorization"};

static const char *const starts[] = {"eyJ",  "AKIA", "ASIA",   "ghp_",  "gho_",        "ghs_",
                                     "ghu_", "ghr_", "glpat-", "xoxb-", "xoxp-",       "xoxa-",
                                     "AIza", "npm_", "sonde_", "SG.",   "github_pat_", "sk_live_"};

static const char *end_of(const char *name, size_t size, const char *word)
{
    size_t length = strlen(word);
    for (; size >= length; name++, size--) {
        if (strncasecmp(name, word, length) == 0)
            return name + length;
    }
    return NULL;
}

const char *sn_redact_words_end(const char *name, size_t size)
{
    const char *first = NULL;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        const char *end = end_of(name, size, words[i]);
        if (end && (!first || end < first))
            first = end;
    }
    return first;
}

bool sn_redact_words_is_token(const char *text, size_t size)
{
    if (size < 16)
        return false;
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        if (strncmp(text, starts[i], strlen(starts[i])) == 0)
            return true;
    }
    return false;
}
