/* Who may do what: keys, tokens, cookies, credentials and certificates become an identity with a
 * scope; a scope includes those below it. HTTP thread only. */
#ifndef SN_ACCESS_H
#define SN_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sonde/error.h"

struct sn_http_exchange;
struct sn_key;

enum sn_scope {
    SN_SCOPE_NONE = 0,
    SN_SCOPE_METRICS, /* counters and metrics */
    SN_SCOPE_READ,    /* lists, recordings, stacks, logs */
    SN_SCOPE_CONTROL, /* starts, stops and deletes recordings */
    SN_SCOPE_ATTACH,  /* changes a process: code runs in it */
    SN_SCOPE_SECRETS, /* environments, whole command lines, core dumps */
};

/* "read"; -1 when there is no such scope. */
const char *sn_scope_name(enum sn_scope scope);
int sn_scope_find(const char *name);

/* What a 401 says in WWW-Authenticate. */
#define SN_ACCESS_CHALLENGE "Bearer realm=\"sonde\""

struct sn_identity {
    enum sn_scope scope;
    uint64_t session; /* of a browser; 0: none */
    char name[96];    /* of the key, subject, user or certificate: for the audit log */
    char key_id[17];  /* of a key, or that a session stands on; "" */
    const char *kind; /* "key", "jwt", "session", "peer", "certificate", "anonymous", "none" */
};

struct sn_access;

/* How open the controller is. Everything is borrowed until sn_access_new returns. */
struct sn_access_options {
    const char *state_folder;      /* keys live there; NULL: there are none */
    enum sn_scope anonymous;       /* SN_SCOPE_NONE: nobody is served without a name */
    enum sn_scope certificate;     /* what a client certificate is good for */
    const char *jwt_public_key;    /* base64url of a JWK; NULL: no tokens */
    const char *jwt_subject;       /* required `sub` */
    const char *jwt_issuer;        /* required `iss`; NULL: dotnet-monitor's own */
    const char *const *host_names; /* besides loopback's and those that are listened on */
    size_t host_name_count;
    const char *prefix; /* "" or "/sonde": the path of cookies */
};

/* What a request shows of itself, as far as access looks at it. Text is borrowed, NULL when it is
 * not there. */
struct sn_visit {
    const char *method;
    const char *query; /* never NULL */
    const char *host;
    const char *origin;
    const char *fetch_site; /* Sec-Fetch-Site */
    const char *authorization;
    const char *cookie;
    const char *content_type;
    size_t body_size;
    unsigned tag; /* enum sn_place_tag */
    const char *peer;
    bool is_local; /* through a Unix socket, by: */
    uid_t uid;
    const char *client_name; /* of its certificate */
};

/* Makes the key of the machine's own programs (the file `key` in the state folder) if need be. */
int sn_access_new(const struct sn_access_options *options, struct sn_access **ret_access,
                  struct sonde_error *err);
void sn_access_free(struct sn_access *access);

/* An address that is listened on, "127.0.0.1:52380": its host may stand in Host. */
int sn_access_allow_host(struct sn_access *access, const char *host, struct sonde_error *err);

/* Who asks. Never fails: SN_SCOPE_NONE, and *ret_why says what is wrong, in a sentence ("" if
 * nothing was shown at all). Cookies count only for requests of our own page. */
void sn_access_identify(struct sn_access *access, struct sn_http_exchange *exchange,
                        struct sn_identity *ret_who, const char **ret_why);

/* Whether who was let in still would be: his key was not revoked and is not over, his session was
 * not ended. For answers that have no end. */
bool sn_access_is_good(struct sn_access *access, const struct sn_identity *who);

/* Refusals that do not depend on who asks: a foreign Host (421), a foreign Origin (403), a key in
 * the query (400), a body that is no JSON where one is sent (415). 0: none; else the status, and
 * *ret_why. */
unsigned sn_access_refuses(struct sn_access *access, struct sn_http_exchange *exchange,
                           const char **ret_why);

/* Every key, for who may see that; borrowed until the next call. *ret_problem: why none counts; "".
 */
size_t sn_access_keys(struct sn_access *access, const struct sn_key **ret_keys,
                      const char **ret_problem);

/* A code that is good for one cookie, once, for ten minutes. `to` needs 48 bytes. What is let in by
 * it is worth no more, and lasts no longer, than `maker`: it stands on his key, and shares the life
 * of his session. A token, a certificate or being anonymous cannot be looked at again later: an
 * hour is all that they pass on. NULL, or a user of the socket: the machine's own. */
int sn_access_new_code(struct sn_access *access, const struct sn_identity *maker, char to[48],
                       struct sonde_error *err);

/* Takes a code; `to` gets the whole value of Set-Cookie, *ret_who is the browser. SONDE_E_DENIED:
 * used, old or wrong, or what its maker had is over. */
int sn_access_redeem(struct sn_access *access, const char *code, bool is_tls, char to[256],
                     struct sn_identity *ret_who, struct sonde_error *err);

/* The same for who shows a key: the session has its scope, and ends with it. *ret_who is the
 * browser. SONDE_E_DENIED: no such key, or it is over. */
int sn_access_login(struct sn_access *access, const char *key, bool is_tls, char to[256],
                    struct sn_identity *ret_who, struct sonde_error *err);

/* Ends a session; `to` gets the Set-Cookie that takes it away from the browser. */
void sn_access_leave(struct sn_access *access, uint64_t session, char to[256]);

/* The same as identify and refuses, for a request as it was seen. */
void sn_access_see(struct sn_http_exchange *exchange, struct sn_visit *ret_visit);
void sn_access_who(struct sn_access *access, const struct sn_visit *visit,
                   struct sn_identity *ret_who, const char **ret_why);
unsigned sn_access_judge(struct sn_access *access, const struct sn_visit *visit,
                         const char **ret_why);

#endif
