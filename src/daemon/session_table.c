#include "daemon/session_table.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

static bool is_over(const struct sn_session_secret *secret, uint64_t now_ns, uint64_t idle_max_ns,
                    uint64_t life_max_ns)
{
    return now_ns - secret->used_ns > idle_max_ns || now_ns - secret->made_ns > life_max_ns;
}

/* A free place, or that of the one that was not used for longest. */
static struct sn_session_secret *find_place(struct sn_session_secret *secrets, size_t count)
{
    struct sn_session_secret *place = &secrets[0];
    for (size_t i = 0; i < count && place->id; i++) {
        if (!secrets[i].id || secrets[i].used_ns < place->used_ns)
            place = &secrets[i];
    }
    return place;
}

static struct sn_session_secret *find(struct sn_session_secret *secrets, size_t count,
                                      const char *text, size_t size)
{
    uint8_t hash[SN_HASH_SIZE];
    struct sn_session_secret *found = NULL;
    if (!sn_token_hash(text, size, hash))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (sn_token_is_same(hash, secrets[i].hash) && secrets[i].id)
            found = &secrets[i];
    }
    return found;
}

/* As one that stands on no key. */
static int keep(struct sn_session_table *table, struct sn_session_secret *place, const char *text,
                uint64_t now_ns, struct sonde_error *err)
{
    struct sn_session_secret secret = {
        .id = ++table->last_id, .made_ns = now_ns, .used_ns = now_ns};
    if (!sn_token_hash(text, strlen(text), secret.hash))
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "no SHA-256 on this machine");
    *place = secret;
    return SONDE_OK;
}

int sn_session_table_code(struct sn_session_table *table, const struct sn_session_basis *basis,
                          uint64_t now_ns, char to[SN_TOKEN_SIZE], struct sonde_error *err)
{
    struct sn_session_secret *place = find_place(table->codes, SN_SESSION_CODE_MAX);
    int rc = sn_token_new("", to, err);
    if (rc == SONDE_OK)
        rc = keep(table, place, to, now_ns, err);
    if (rc != SONDE_OK)
        return rc;
    place->age_ns = basis->age_ns;
    (void)snprintf(place->key_id, sizeof(place->key_id), "%s", basis->key_id);
    return SONDE_OK;
}

/* For a browser that was let in by this key: in the place of another of its own once it has many.
 */
static struct sn_session_secret *find_place_of(struct sn_session_table *table, const char *key_id)
{
    struct sn_session_secret *idlest = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < SN_SESSION_COUNT_MAX && *key_id; i++) {
        struct sn_session_secret *one = &table->sessions[i];
        if (!one->id || strcmp(one->key_id, key_id) != 0)
            continue;
        count++;
        if (!idlest || one->used_ns < idlest->used_ns)
            idlest = one;
    }
    return count >= SN_SESSION_OF_A_KEY_MAX ? idlest
                                            : find_place(table->sessions, SN_SESSION_COUNT_MAX);
}

static int admit(struct sn_session_table *table, const struct sn_session_secret *basis,
                 uint64_t now_ns, char to[SN_TOKEN_SIZE], struct sonde_error *err)
{
    struct sn_session_secret *place = find_place_of(table, basis->key_id);
    int rc = sn_token_new("", to, err);
    if (rc == SONDE_OK)
        rc = keep(table, place, to, now_ns, err);
    if (rc != SONDE_OK)
        return rc;
    place->made_ns = basis->made_ns;
    (void)snprintf(place->key_id, sizeof(place->key_id), "%s", basis->key_id);
    return SONDE_OK;
}

int sn_session_table_admit(struct sn_session_table *table, const char *key_id, uint64_t now_ns,
                           char to[SN_TOKEN_SIZE], struct sonde_error *err)
{
    struct sn_session_secret basis = {.made_ns = now_ns};
    (void)snprintf(basis.key_id, sizeof(basis.key_id), "%s", key_id);
    return admit(table, &basis, now_ns, to, err);
}

int sn_session_table_redeem(struct sn_session_table *table, const char *code, uint64_t now_ns,
                            char to[SN_TOKEN_SIZE], struct sonde_error *err)
{
    struct sn_session_secret *found = find(table->codes, SN_SESSION_CODE_MAX, code, strlen(code));
    bool is_old = found && is_over(found, now_ns, UINT64_MAX, SN_SESSION_CODE_LIFE_NS);
    struct sn_session_secret taken = found ? *found : (struct sn_session_secret){0};
    if (found)
        *found = (struct sn_session_secret){0};
    if (!found || is_old)
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "this code was used already, is older than ten minutes, or was never given: "
                       "a new link is needed");
    taken.made_ns -= taken.age_ns; /* times are only ever subtracted: it may wrap */
    return admit(table, &taken, now_ns, to, err);
}

uint64_t sn_session_table_age(const struct sn_session_table *table, uint64_t id, uint64_t now_ns)
{
    for (size_t i = 0; i < SN_SESSION_COUNT_MAX && id; i++) {
        if (table->sessions[i].id == id)
            return now_ns - table->sessions[i].made_ns;
    }
    return 0;
}

const char *sn_session_table_key(const struct sn_session_table *table, uint64_t id)
{
    for (size_t i = 0; i < SN_SESSION_COUNT_MAX && id; i++) {
        if (table->sessions[i].id == id)
            return table->sessions[i].key_id;
    }
    return "";
}

uint64_t sn_session_table_find(struct sn_session_table *table, const char *cookie, size_t size,
                               uint64_t now_ns)
{
    struct sn_session_secret *found = find(table->sessions, SN_SESSION_COUNT_MAX, cookie, size);
    if (found && is_over(found, now_ns, SN_SESSION_IDLE_MAX_NS, SN_SESSION_LIFE_MAX_NS)) {
        *found = (struct sn_session_secret){0};
        found = NULL;
    }
    if (!found)
        return 0;
    found->used_ns = now_ns;
    return found->id;
}

bool sn_session_table_has(const struct sn_session_table *table, uint64_t id, uint64_t now_ns)
{
    for (size_t i = 0; i < SN_SESSION_COUNT_MAX; i++) {
        const struct sn_session_secret *one = &table->sessions[i];
        if (one->id == id)
            return !is_over(one, now_ns, SN_SESSION_IDLE_MAX_NS, SN_SESSION_LIFE_MAX_NS);
    }
    return false;
}

bool sn_session_table_end(struct sn_session_table *table, uint64_t id)
{
    for (size_t i = 0; i < SN_SESSION_COUNT_MAX && id; i++) {
        if (table->sessions[i].id == id) {
            table->sessions[i] = (struct sn_session_secret){0};
            return true;
        }
    }
    return false;
}
