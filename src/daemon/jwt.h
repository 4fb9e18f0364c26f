/* Bearer tokens as dotnet-monitor takes them: JSON web tokens signed with the private half of a key
 * whose public half the configuration holds. ES256, ES384, ES512, RS256, RS384 and RS512 only:
 * never `none`, never a shared secret. See docs/formats/jwt.md. */
#ifndef SN_JWT_H
#define SN_JWT_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#define SN_JWT_AUDIENCE  "https://github.com/dotnet/dotnet-monitor"
#define SN_JWT_ISSUER    "https://github.com/dotnet/dotnet-monitor/generatekey+MonitorApiKey"
#define SN_JWT_SKEW_S    300u    /* clocks may differ by as much */
#define SN_JWT_LIFE_S    604800u /* of generated ones, unless told: seven days */
#define SN_JWT_TOKEN_MAX 8192u

struct sn_jwt_verifier;

/* `public_key`: base64url of a JWK (kty EC or RSA). `issuer` NULL or "": SN_JWT_ISSUER. */
int sn_jwt_verifier_new(const char *public_key, const char *subject, const char *issuer,
                        struct sn_jwt_verifier **ret_verifier, struct sonde_error *err);
void sn_jwt_verifier_free(struct sn_jwt_verifier *verifier);
static inline void sn_jwt_verifier_free_auto(struct sn_jwt_verifier **verifier)
{
    sn_jwt_verifier_free(*verifier);
}

/* SONDE_E_FORMAT: no token; SONDE_E_UNSUPPORTED: signed in a way that is not taken; SONDE_E_DENIED:
 * not signed by that key, not for us, or over. */
int sn_jwt_verify(const struct sn_jwt_verifier *verifier, const char *token, size_t size,
                  uint64_t now_s, struct sonde_error *err);

/* The subject that tokens must have. */
const char *sn_jwt_subject(const struct sn_jwt_verifier *verifier);

/* A new P-384 key of which only the public half and one token are left: what `dotnet-monitor
 * generatekey` makes. */
struct sn_jwt_generated {
    char token[2048];
    char subject[37];
    char public_key[1024];
};

int sn_jwt_generate(uint64_t life_s, struct sn_jwt_generated *ret_generated,
                    struct sonde_error *err);

/* "Json", "Text", "Cmd", "PowerShell", "Shell", "MachineJson"; letters' case does not count. What
 * dotnet-monitor prints for it. SONDE_E_ARGUMENT: there is no such format. */
struct sn_buf;
int sn_jwt_print(struct sn_buf *to, const struct sn_jwt_generated *generated, const char *format,
                 struct sonde_error *err);

#endif
