/* Browsers that were let in: codes that are good for one cookie, and the cookies. Both are kept as
 * hashes, and there are few of them: the one that was idle longest makes room. HTTP
 * thread only. */
#ifndef SN_SESSION_TABLE_H
#define SN_SESSION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/token.h"
#include "sonde/error.h"

#define SN_SESSION_COUNT_MAX    64u
#define SN_SESSION_OF_A_KEY_MAX 16u /* so that who has a lesser one throws nobody else out */
#define SN_SESSION_CODE_MAX     16u
#define SN_SESSION_CODE_LIFE_NS (10ull * 60 * 1000000000)
#define SN_SESSION_IDLE_MAX_NS  (8ull * 3600 * 1000000000)
#define SN_SESSION_LIFE_MAX_NS  (24ull * 3600 * 1000000000)

struct sn_session_secret {
    uint8_t hash[SN_HASH_SIZE];
    uint64_t id; /* 0: the place is free */
    uint64_t made_ns;
    uint64_t used_ns;
    uint64_t age_ns; /* of a code: how old the session that it opens is from its beginning */
    char key_id[17]; /* of the key that it stands on; "": on none */
};

/* What a code passes on to the session that it opens. */
struct sn_session_basis {
    const char *key_id; /* "": no key */
    uint64_t age_ns;    /* so much of a session's life is over already */
};

struct sn_session_table {
    struct sn_session_secret codes[SN_SESSION_CODE_MAX];
    struct sn_session_secret sessions[SN_SESSION_COUNT_MAX];
    uint64_t last_id;
};

/* Times are sn_clock_monotonic_ns, told by the caller. */
int sn_session_table_code(struct sn_session_table *table, const struct sn_session_basis *basis,
                          uint64_t now_ns, char to[SN_TOKEN_SIZE], struct sonde_error *err);

/* Takes the code and gives a cookie for it, on the code's basis. SONDE_E_DENIED: it was used, is
 * too old, or never was. */
int sn_session_table_redeem(struct sn_session_table *table, const char *code, uint64_t now_ns,
                            char to[SN_TOKEN_SIZE], struct sonde_error *err);

/* A cookie for who has shown the key of this id. */
int sn_session_table_admit(struct sn_session_table *table, const char *key_id, uint64_t now_ns,
                           char to[SN_TOKEN_SIZE], struct sonde_error *err);

/* The id of the cookie's session, which is used thereby; 0: there is none. */
uint64_t sn_session_table_find(struct sn_session_table *table, const char *cookie, size_t size,
                               uint64_t now_ns);

/* Whether it is there and not over; it is not used thereby. */
bool sn_session_table_has(const struct sn_session_table *table, uint64_t id, uint64_t now_ns);

/* How long ago it was let in; 0 when it is not there. */
uint64_t sn_session_table_age(const struct sn_session_table *table, uint64_t id, uint64_t now_ns);

/* The key that a session stands on; "" when it does on none, or is not there. */
const char *sn_session_table_key(const struct sn_session_table *table, uint64_t id);

bool sn_session_table_end(struct sn_session_table *table, uint64_t id);

#endif
