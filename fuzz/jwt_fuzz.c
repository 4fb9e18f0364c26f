/* Any bytes as a public key and a token of it, a line each: taken or refused with a reason; never
 * taken unless the key says so, and never without three parts. */
#include <stdlib.h>
#include <string.h>

#include "daemon/jwt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *key, const char *token, size_t size)
{
    struct sn_jwt_verifier *verifier = NULL;
    struct sonde_error err = {0};
    int rc =
        sn_jwt_verifier_new(key, "ae5473b6-8dad-498d-b915-1234567890ab", NULL, &verifier, &err);
    if (rc != SONDE_OK) {
        if (!err.text[0] || verifier)
            abort();
        return;
    }
    rc = sn_jwt_verify(verifier, token, size, 1800000000u, &err);
    if (rc == SONDE_OK ? !memchr(token, '.', size) : !err.text[0])
        abort();
    sn_jwt_verifier_free(verifier);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    size_t key_size = line ? (size_t)(line - data) : size;
    size_t token_size = line ? size - key_size - 1 : 0;
    char *key = malloc(key_size + 1);
    char *token = malloc(token_size + 1);
    if (key && token) {
        if (key_size)
            memcpy(key, data, key_size);
        key[key_size] = '\0';
        if (token_size)
            memcpy(token, line + 1, token_size);
        check(key, token, token_size);
    }
    free(key);
    free(token);
    return 0;
}
