/* Secrets that we make: random texts, and the SHA-256 by which they are known afterwards. */
#ifndef SN_TOKEN_H
#define SN_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#define SN_TOKEN_PREFIX "sonde_" /* of keys: scanners for leaked secrets know them by it */
#define SN_TOKEN_SIZE   64u
#define SN_HASH_SIZE    32u

/* `prefix` (at most 16 characters) and 256 random bits as base64url. */
int sn_token_new(const char *prefix, char to[SN_TOKEN_SIZE], struct sonde_error *err);

/* After sn_tls_start or sn_token_new. False: the library refuses. */
bool sn_token_hash(const char *text, size_t size, uint8_t to[SN_HASH_SIZE]);

/* Takes the same time whatever they are. */
bool sn_token_is_same(const uint8_t a[SN_HASH_SIZE], const uint8_t b[SN_HASH_SIZE]);

/* `count` random bytes as small hexadecimal digits; `to` needs twice as many and one. */
int sn_token_hex(char *to, size_t count, struct sonde_error *err);

#endif
