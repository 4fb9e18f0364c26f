#include "daemon/access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/user.h"
#include "daemon/jwt.h"
#include "daemon/key_ring.h"
#include "daemon/own_hosts.h"
#include "daemon/serve.h"
#include "daemon/session_file.h"
#include "net/tls.h"

#define LENT_LIFE_NS  (3600ull * SN_NS_PER_SECOND)
#define TOKEN_LETTERS 43u /* 256 bits as base64url */
#define BASE64URL     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

struct sn_access {
    enum sn_scope anonymous;
    enum sn_scope certificate;
    struct sn_key_ring *keys;       /* owns; NULL: there are none */
    struct sn_jwt_verifier *tokens; /* owns; NULL: none are taken */
    struct sn_session_table sessions;
    char *folder; /* owns; where they are kept over a restart; NULL: nowhere */
    struct sn_own_hosts hosts;
    char cookie_name[32];
    char cookie_path[96];
    struct sonde_error problem; /* with the token that was shown last */
};

static const char *const scope_names[] = {"none",    "metrics", "read",
                                          "control", "attach",  "secrets"};

const char *sn_scope_name(enum sn_scope scope)
{
    return scope_names[scope];
}

int sn_scope_find(const char *name)
{
    for (int i = SN_SCOPE_METRICS; i <= SN_SCOPE_SECRETS; i++) {
        if (strcmp(scope_names[i], name) == 0)
            return i;
    }
    return -1;
}

/* --- from start to end --- */

static void save_sessions(struct sn_access *access)
{
    if (access->folder)
        sn_session_file_save(access->folder, &access->sessions);
}

void sn_access_free(struct sn_access *access)
{
    if (!access)
        return;
    save_sessions(access); /* when each was used last */
    sn_key_ring_free(access->keys);
    sn_jwt_verifier_free(access->tokens);
    free(access->folder);
    free(access);
}

static inline void sn_access_free_auto(struct sn_access **access)
{
    sn_access_free(*access);
}

/* Browsers keep cookies by host, not by port: controllers beside each other need different ones. */
static void name_cookie(struct sn_access *access, const struct sn_access_options *options)
{
    const char *folder = options->state_folder ? options->state_folder : "";
    const char *prefix = options->prefix ? options->prefix : "";
    uint8_t hash[SN_HASH_SIZE] = {0};
    (void)sn_token_hash(folder, strlen(folder), hash);
    (void)snprintf(access->cookie_name, sizeof(access->cookie_name), "sonde-%02x%02x%02x%02x",
                   hash[0], hash[1], hash[2], hash[3]);
    (void)snprintf(access->cookie_path, sizeof(access->cookie_path), "%s", *prefix ? prefix : "/");
}

static int open_keys(struct sn_access *access, const char *folder, struct sonde_error *err)
{
    struct sonde_error cause = {0};
    int rc = sn_key_file_default(folder, &cause);
    if (rc == SONDE_OK)
        rc = sn_key_ring_new(folder, &access->keys, &cause);
    if (rc != SONDE_OK)
        return sn_fail_because(err, &cause, folder);
    access->folder = strdup(folder); /* without it sessions end with us */
    if (access->folder)
        sn_session_file_load(access->folder, &access->sessions);
    return rc;
}

int sn_access_new(const struct sn_access_options *options, struct sn_access **ret_access,
                  struct sonde_error *err)
{
    SN_AUTO(sn_access_free) struct sn_access *access = calloc(1, sizeof(*access));
    if (!access)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for keys");
    if (options->prefix && strlen(options->prefix) >= sizeof(access->cookie_path))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the path prefix is longer than %zu characters",
                       sizeof(access->cookie_path) - 1);
    access->anonymous = options->anonymous;
    access->certificate = options->certificate;
    int rc = sn_tls_start(err);
    if (rc == SONDE_OK && options->state_folder)
        rc = open_keys(access, options->state_folder, err);
    if (rc == SONDE_OK && options->jwt_public_key)
        rc = sn_jwt_verifier_new(options->jwt_public_key, options->jwt_subject, options->jwt_issuer,
                                 &access->tokens, err);
    for (size_t i = 0; i < options->host_name_count && rc == SONDE_OK; i++)
        rc = sn_own_hosts_add(&access->hosts, options->host_names[i], true, err);
    if (rc != SONDE_OK)
        return rc;
    name_cookie(access, options);
    *ret_access = SN_TAKE(access);
    return SONDE_OK;
}

int sn_access_allow_host(struct sn_access *access, const char *host, struct sonde_error *err)
{
    return sn_own_hosts_add(&access->hosts, host, false, err);
}

/* --- who asks --- */

static void name_it(struct sn_identity *who, enum sn_scope scope, const char *kind,
                    const char *name)
{
    *who = (struct sn_identity){.scope = scope, .kind = kind};
    (void)snprintf(who->name, sizeof(who->name), "%s", name);
}

static void take_key(struct sn_access *access, const char *token, struct sn_identity *ret_who,
                     const char **ret_why)
{
    const struct sn_key *key = sn_key_ring_find(access->keys, token, strlen(token), ret_why);
    if (!key)
        return;
    name_it(ret_who, key->scope, "key", key->name);
    (void)snprintf(ret_who->key_id, sizeof(ret_who->key_id), "%s", key->id);
}

bool sn_access_is_good(struct sn_access *access, const struct sn_identity *who)
{
    if (who->key_id[0] && !sn_key_ring_get(access->keys, who->key_id))
        return false;
    return !who->session ||
           sn_session_table_has(&access->sessions, who->session, sn_clock_monotonic_ns());
}

size_t sn_access_keys(struct sn_access *access, const struct sn_key **ret_keys,
                      const char **ret_problem)
{
    *ret_keys = NULL;
    *ret_problem = "";
    return access->keys ? sn_key_ring_list(access->keys, ret_keys, ret_problem) : 0;
}

static void take_jwt(struct sn_access *access, const char *token, struct sn_identity *ret_who,
                     const char **ret_why)
{
    access->problem = (struct sonde_error){0};
    uint64_t now_s = sn_clock_utc_ns() / SN_NS_PER_SECOND;
    if (sn_jwt_verify(access->tokens, token, strlen(token), now_s, &access->problem) == SONDE_OK)
        name_it(ret_who, SN_SCOPE_SECRETS, "jwt", sn_jwt_subject(access->tokens));
    else
        *ret_why = access->problem.text;
}

/* "Bearer TOKEN", of either kind. */
static void take_authorization(struct sn_access *access, const char *header,
                               struct sn_identity *ret_who, const char **ret_why)
{
    size_t word = strcspn(header, " ");
    const char *token = header + word + strspn(header + word, " ");
    *ret_why = "this token is not known";
    if (word != 6 || strncasecmp(header, "Bearer", 6) != 0 || !*token)
        *ret_why = "the header should be 'Authorization: Bearer TOKEN'";
    else if (strncmp(token, SN_TOKEN_PREFIX, strlen(SN_TOKEN_PREFIX)) == 0 && access->keys)
        take_key(access, token, ret_who, ret_why);
    else if (access->tokens)
        take_jwt(access, token, ret_who, ret_why);
}

/* The value of our cookie in "a=1; b=2"; NULL: it is not there. */
static const char *find_cookie(const struct sn_access *access, const char *header, size_t *ret_size)
{
    size_t length = strlen(access->cookie_name);
    for (const char *at = header; at && *at;) {
        at += strspn(at, " ;");
        if (strncmp(at, access->cookie_name, length) == 0 && at[length] == '=') {
            *ret_size = strcspn(at + length + 1, "; ");
            return at + length + 1;
        }
        at = strchr(at, ';');
    }
    return NULL;
}

static bool changes_nothing(const struct sn_visit *visit)
{
    return strcmp(visit->method, "GET") == 0 || strcmp(visit->method, "HEAD") == 0;
}

/* What a browser sends along by itself, it also sends for pages that are not ours; then it says so.
 */
static bool is_foreign_page(const struct sn_access *access, const struct sn_visit *visit)
{
    if (visit->origin && !sn_own_hosts_has_origin(&access->hosts, visit->origin, visit->host))
        return true;
    return visit->fetch_site && strcmp(visit->fetch_site, "same-origin") != 0 &&
           strcmp(visit->fetch_site, "none") != 0;
}

/* The default key is made anew under its old id, and sessions outlive a restart: one that was let
 * in by the key before does not stand on the new one. */
static bool is_older_than_key(const struct sn_access *access, uint64_t id, const struct sn_key *key)
{
    uint64_t now_s = sn_clock_utc_ns() / SN_NS_PER_SECOND;
    uint64_t age_ns = sn_session_table_age(&access->sessions, id, sn_clock_monotonic_ns());
    uint64_t key_age_s = now_s > key->created_s ? now_s - key->created_s : 0;
    return age_ns / SN_NS_PER_SECOND > key_age_s + 1;
}

/* A session is worth what let it in: a key, or a link made with one, its scope for as long as it is
 * good; any other link everything. False: it is over. */
static bool take_session(struct sn_access *access, uint64_t id, struct sn_identity *ret_who)
{
    const char *key_id = sn_session_table_key(&access->sessions, id);
    const struct sn_key *key = *key_id ? sn_key_ring_get(access->keys, key_id) : NULL;
    char name[32];
    if (*key_id && (!key || is_older_than_key(access, id, key))) {
        (void)sn_session_table_end(&access->sessions, id);
        return false;
    }
    (void)snprintf(name, sizeof(name), "browser %llu", (unsigned long long)id);
    name_it(ret_who, key ? key->scope : SN_SCOPE_SECRETS, "session", key ? key->name : name);
    (void)snprintf(ret_who->key_id, sizeof(ret_who->key_id), "%s", key ? key->id : "");
    ret_who->session = id;
    return true;
}

static void take_cookie(struct sn_access *access, const struct sn_visit *visit,
                        struct sn_identity *ret_who, const char **ret_why)
{
    size_t size = 0;
    const char *value = find_cookie(access, visit->cookie, &size);
    if (!value)
        return;
    bool is_sure = changes_nothing(visit) || visit->origin ||
                   (visit->fetch_site && strcmp(visit->fetch_site, "same-origin") == 0);
    if (!is_sure) {
        *ret_why = "with a cookie, changes need an Origin: this request does not say whose it is";
        return;
    }
    uint64_t id = sn_session_table_find(&access->sessions, value, size, sn_clock_monotonic_ns());
    if (!id) {
        *ret_why = "this session is over: a new link is needed";
        return;
    }
    if (!take_session(access, id, ret_who))
        *ret_why = "the key of this session was revoked or has expired: log in with another";
}

static void take_peer(const struct sn_visit *visit, struct sn_identity *ret_who,
                      const char **ret_why)
{
    char name[SN_USER_NAME_SIZE];
    if (visit->uid == geteuid() || visit->uid == 0)
        name_it(ret_who, SN_SCOPE_SECRETS, "peer", sn_user_name(visit->uid, name));
    else
        *ret_why = "the socket is for the controller's own user and root; others need a key";
}

void sn_access_who(struct sn_access *access, const struct sn_visit *visit,
                   struct sn_identity *ret_who, const char **ret_why)
{
    name_it(ret_who, SN_SCOPE_NONE, "none", "");
    *ret_why = "";
    if (visit->authorization) {
        take_authorization(access, visit->authorization, ret_who, ret_why);
        return;
    }
    bool is_foreign = is_foreign_page(access, visit);
    if (visit->cookie && !is_foreign)
        take_cookie(access, visit, ret_who, ret_why);
    if (!ret_who->scope && visit->is_local && visit->tag == SN_PLACE_LOCAL)
        take_peer(visit, ret_who, ret_why);
    if (!ret_who->scope && visit->client_name && access->certificate && !is_foreign)
        name_it(ret_who, access->certificate, "certificate", visit->client_name);
    if (!ret_who->scope && visit->tag == SN_PLACE_METRICS)
        name_it(ret_who, SN_SCOPE_METRICS, "anonymous", "");
    if (!ret_who->scope && access->anonymous && !is_foreign)
        name_it(ret_who, access->anonymous, "anonymous", "");
}

/* --- what is refused whoever asks --- */

/* The whole of a key of ours, wherever it begins; a file may well be called sonde_shop. */
static bool has_token(const char *text, size_t size)
{
    const size_t prefix = strlen(SN_TOKEN_PREFIX);
    const char *end = text + size;
    for (const char *at; (at = memmem(text, (size_t)(end - text), SN_TOKEN_PREFIX, prefix));) {
        text = at + prefix;
        if (strspn(text, BASE64URL) == TOKEN_LETTERS)
            return true;
    }
    return false;
}

/* Three parts of base64url, the first of which is the beginning of an object. */
static bool is_jwt(const char *text, size_t size)
{
    size_t at = 0;
    for (unsigned part = 0; part < 3; part++) {
        size_t letters = strspn(text + at, BASE64URL);
        at += letters;
        if (!letters || at > size || (part < 2 && text[at++] != '.'))
            return false;
    }
    return strncmp(text, "eyJ", 3) == 0 && at == size;
}

/* Addresses are written down everywhere: in histories, logs of proxies, Referer. */
static bool has_key_in_query(const char *query)
{
    static const char *const names[] = {"key",     "token",         "access_token", "api_key",
                                        "api-key", "authorization", "apikey",       "bearer"};
    for (const char *at = query; *at;) {
        size_t size = strcspn(at, "&;");
        size_t name = strcspn(at, "=&;");
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
            if (name == strlen(names[i]) && strncasecmp(at, names[i], name) == 0)
                return true;
        }
        if (has_token(at, size) || (name < size && is_jwt(at + name + 1, size - name - 1)))
            return true;
        at += size + (at[size] != '\0');
    }
    return false;
}

/* "application/json", "text/json", "application/x+json", with parameters or not. A form of a
 * foreign page can send none of these unasked. */
static bool is_json(const char *type)
{
    size_t size = strcspn(type, "; \t");
    bool is_text = size == 9 && strncasecmp(type, "text/json", 9) == 0;
    bool is_application = size >= 16 && strncasecmp(type, "application/", 12) == 0 &&
                          (strncasecmp(type + size - 5, "/json", 5) == 0 ||
                           strncasecmp(type + size - 5, "+json", 5) == 0);
    return is_text || is_application;
}

static bool is_from_loopback(const char *peer)
{
    return peer && (strncmp(peer, "127.", 4) == 0 || strncmp(peer, "[::1]", 5) == 0 ||
                    strncmp(peer, "[::ffff:127.", 12) == 0);
}

/* Scrapers from elsewhere find the metrics' place under whatever name their cluster gives it. */
static bool may_have_any_host(const struct sn_visit *visit)
{
    return visit->is_local || (visit->tag == SN_PLACE_METRICS && !is_from_loopback(visit->peer));
}

unsigned sn_access_judge(struct sn_access *access, const struct sn_visit *visit,
                         const char **ret_why)
{
    if (!may_have_any_host(visit) && !sn_own_hosts_has(&access->hosts, visit->host)) {
        *ret_why = "this controller has another name than the request's Host; --allowed-host NAME "
                   "adds one";
        return 421;
    }
    if (visit->origin && !sn_own_hosts_has_origin(&access->hosts, visit->origin, visit->host)) {
        *ret_why = "the request comes from a page that is not ours";
        return 403;
    }
    if (has_key_in_query(visit->query)) {
        *ret_why = "keys do not belong into addresses, which are written down everywhere: send "
                   "'Authorization: Bearer TOKEN'; if this one is real, revoke it";
        return 400;
    }
    if (visit->body_size && (!visit->content_type || !is_json(visit->content_type))) {
        *ret_why = "the body should be JSON, with Content-Type: application/json";
        return 415;
    }
    return 0;
}

/* --- browsers --- */

/* How much of a session's life is over for who is let in by `maker`. */
static uint64_t age_of(const struct sn_access *access, const struct sn_identity *maker)
{
    if (maker->session)
        return sn_session_table_age(&access->sessions, maker->session, sn_clock_monotonic_ns());
    bool can_be_asked = maker->key_id[0] || strcmp(maker->kind, "peer") == 0;
    return can_be_asked ? 0 : SN_SESSION_LIFE_MAX_NS - LENT_LIFE_NS;
}

int sn_access_new_code(struct sn_access *access, const struct sn_identity *maker, char to[48],
                       struct sonde_error *err)
{
    char code[SN_TOKEN_SIZE];
    struct sn_session_basis basis = {.key_id = ""};
    if (maker)
        basis = (struct sn_session_basis){maker->key_id, age_of(access, maker)};
    int rc = sn_session_table_code(&access->sessions, &basis, sn_clock_monotonic_ns(), code, err);
    if (rc == SONDE_OK)
        (void)snprintf(to, 48, "%.47s", code);
    return rc;
}

static void set_cookie(const struct sn_access *access, const char *cookie, bool is_tls,
                       char to[256])
{
    (void)snprintf(to, 256, "%s=%s; Path=%s; Max-Age=%llu; HttpOnly; SameSite=Strict%s",
                   access->cookie_name, cookie, access->cookie_path,
                   SN_SESSION_LIFE_MAX_NS / SN_NS_PER_SECOND, is_tls ? "; Secure" : "");
}

/* The browser that has just been given this cookie. */
static int begin_session(struct sn_access *access, const char *cookie, struct sn_identity *ret_who,
                         struct sonde_error *err)
{
    uint64_t id =
        sn_session_table_find(&access->sessions, cookie, strlen(cookie), sn_clock_monotonic_ns());
    if (!id || !take_session(access, id, ret_who))
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "the key or session that this comes from is over: use another key, or a "
                       "new link");
    save_sessions(access);
    return SONDE_OK;
}

int sn_access_redeem(struct sn_access *access, const char *code, bool is_tls, char to[256],
                     struct sn_identity *ret_who, struct sonde_error *err)
{
    char cookie[SN_TOKEN_SIZE];
    int rc = sn_session_table_redeem(&access->sessions, code, sn_clock_monotonic_ns(), cookie, err);
    if (rc == SONDE_OK)
        rc = begin_session(access, cookie, ret_who, err);
    if (rc == SONDE_OK)
        set_cookie(access, cookie, is_tls, to);
    return rc;
}

int sn_access_login(struct sn_access *access, const char *key, bool is_tls, char to[256],
                    struct sn_identity *ret_who, struct sonde_error *err)
{
    char cookie[SN_TOKEN_SIZE];
    const char *why = "this controller has no keys";
    uint64_t now_ns = sn_clock_monotonic_ns();
    const struct sn_key *found =
        access->keys ? sn_key_ring_find(access->keys, key, strlen(key), &why) : NULL;
    if (!found)
        return sn_fail(err, SONDE_E_DENIED, 0, "%.300s", why);
    int rc = sn_session_table_admit(&access->sessions, found->id, now_ns, cookie, err);
    if (rc == SONDE_OK)
        rc = begin_session(access, cookie, ret_who, err);
    if (rc == SONDE_OK)
        set_cookie(access, cookie, is_tls, to);
    return rc;
}

void sn_access_leave(struct sn_access *access, uint64_t session, char to[256])
{
    (void)sn_session_table_end(&access->sessions, session);
    save_sessions(access);
    (void)snprintf(to, 256, "%s=; Path=%s; Max-Age=0; HttpOnly; SameSite=Strict",
                   access->cookie_name, access->cookie_path);
}
