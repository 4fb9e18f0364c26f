/* Browsers that were let in: codes that are good for one cookie, and the cookies. Both are kept as
 * hashes, in memory only, and there are few of them: the one that was idle longest makes room. HTTP
 * thread only. */
#ifndef SN_SESSION_TABLE_H
#define SN_SESSION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/token.h"
#include "sonde/error.h"

#define SN_SESSION_COUNT_MAX    64u
#define SN_SESSION_CODE_MAX     16u
#define SN_SESSION_CODE_LIFE_NS (10ull * 60 * 1000000000)
#define SN_SESSION_IDLE_MAX_NS  (8ull * 3600 * 1000000000)
#define SN_SESSION_LIFE_MAX_NS  (24ull * 3600 * 1000000000)

struct sn_session_secret {
    uint8_t hash[SN_HASH_SIZE];
    uint64_t id; /* 0: the place is free */
    uint64_t made_ns;
    uint64_t used_ns;
};

struct sn_session_table {
    struct sn_session_secret codes[SN_SESSION_CODE_MAX];
    struct sn_session_secret sessions[SN_SESSION_COUNT_MAX];
    uint64_t last_id;
};

/* Times are sn_clock_monotonic_ns, told by the caller. */
int sn_session_table_code(struct sn_session_table *table, uint64_t now_ns, char to[SN_TOKEN_SIZE],
                          struct sonde_error *err);

/* Takes the code and gives a cookie for it. SONDE_E_DENIED: it was used, is too old, or never was.
 */
int sn_session_table_redeem(struct sn_session_table *table, const char *code, uint64_t now_ns,
                            char to[SN_TOKEN_SIZE], struct sonde_error *err);

/* The id of the cookie's session, which is used thereby; 0: there is none. */
uint64_t sn_session_table_find(struct sn_session_table *table, const char *cookie, size_t size,
                               uint64_t now_ns);

/* Whether it is there and not over; it is not used thereby. */
bool sn_session_table_has(const struct sn_session_table *table, uint64_t id, uint64_t now_ns);

bool sn_session_table_end(struct sn_session_table *table, uint64_t id);

#endif
