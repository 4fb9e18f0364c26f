/* A controller that does the work for a verb: the one that was named with --host, or one of this
 * machine that runs anyway. What it says is checked as everything from outside is. One thread. */
#ifndef SN_CLI_REMOTE_H
#define SN_CLI_REMOTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "net/http_answer.h"

struct sn_http_client;
struct sonde_error;

/* What a command line says; part of the arguments of a verb. */
struct sn_remote_choice {
    const char *host;
    const char *key_file;
    const char *ca_file;
    const char *tls_pin;
    bool is_plain; /* the key may go over plain http */
};

/* The rows of its options; `at` is where it stands in the arguments. */
#define SN_REMOTE_OPTIONS(at)                                                             \
    {0,                                                                                   \
     "host",                                                                              \
     SN_OPTION_TEXT,                                                                      \
     (at) + offsetof(struct sn_remote_choice, host),                                      \
     "URL",                                                                               \
     "through this controller; none: without any"},                                       \
        {0,                                                                               \
         "host-key-file",                                                                 \
         SN_OPTION_TEXT,                                                                  \
         (at) + offsetof(struct sn_remote_choice, key_file),                              \
         "FILE",                                                                          \
         "the key for it; else SONDE_KEY"},                                               \
        {0,                                                                               \
         "host-ca",                                                                       \
         SN_OPTION_TEXT,                                                                  \
         (at) + offsetof(struct sn_remote_choice, ca_file),                               \
         "FILE",                                                                          \
         "authorities to trust for it (PEM)"},                                            \
        {0,                                                                               \
         "host-plain",                                                                    \
         SN_OPTION_FLAG,                                                                  \
         (at) + offsetof(struct sn_remote_choice, is_plain),                              \
         NULL,                                                                            \
         "send the key over plain http to another machine, too"},                         \
    {                                                                                     \
        0, "host-pin", SN_OPTION_TEXT, (at) + offsetof(struct sn_remote_choice, tls_pin), \
            "SHA256", "trust just this certificate of it"                                 \
    }

struct sn_remote {
    struct sn_http_client *client; /* owns */
    bool is_named;                 /* by --host or SONDE_HOST: what fails is an error */
    int stop_fd;
    uint64_t interval_ns;    /* of its counters */
    bool has_counters;       /* it watches them */
    bool has_usual_counters; /* those that we would watch, unless told which */
};

/* Finds and greets it. `uses_any`: also one of this machine that was not named, which must be of
 * our version and answer at once; otherwise there is none. *ret_remote is NULL then: the verb works
 * alone. `stop_fd` is of cli/signals.h, -1: none. */
int sn_remote_open(const struct sn_remote_choice *choice, bool uses_any, int stop_fd,
                   struct sn_remote **ret_remote, struct sonde_error *err);
void sn_remote_close(struct sn_remote *remote); /* NULL is fine */

static inline void sn_remote_close_auto(struct sn_remote **slot)
{
    sn_remote_close(*slot);
}

/* Whether a controller was named at all: verbs and options that cannot go through one refuse it. */
bool sn_remote_is_named(const struct sn_remote_choice *choice);
int sn_remote_refuse(const struct sn_remote_choice *choice, const char *what,
                     struct sonde_error *err);

/* One request; `body` is borrowed, may be NULL; *ret_json (may be NULL: not wanted) is the
 * caller's, NULL for an answer without a body. A problem's own words are in `err`. */
int sn_remote_ask(struct sn_remote *remote, const char *method, const char *path,
                  const json_t *body, json_t **ret_json, struct sonde_error *err);

/* GET; the body goes to `take` as it comes. `accept` may be NULL. */
int sn_remote_fetch(struct sn_remote *remote, const char *path, const char *accept,
                    sn_http_body_fn *take, void *user, struct sonde_error *err);

/* The problem of the last answer, in the words of whoever refused; for who uses the client itself.
 */
int sn_remote_fail(struct sn_remote *remote, const struct sonde_error *cause,
                   struct sonde_error *err);

/* Members of what it said; wrong kinds are as good as none. Texts are never NULL. */
const char *sn_remote_text(const json_t *object, const char *name);
uint64_t sn_remote_u64(const json_t *object, const char *name);
double sn_remote_real(const json_t *object, const char *name); /* NAN: none */
bool sn_remote_bool(const json_t *object, const char *name);

#endif
