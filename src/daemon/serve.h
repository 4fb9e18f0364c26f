/* `sonde serve`: the controller, from its options to its end. */
#ifndef SN_SERVE_H
#define SN_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/access.h"
#include "net/http_server.h"
#include "sonde/error.h"

#define SN_PLACES_MAX 8u

struct sn_configuration;
struct sn_process_filter;

enum sn_place_tag {
    SN_PLACE_API = 0, /* everything, for who has a key */
    SN_PLACE_METRICS, /* /metrics only, for everybody who can reach it */
    SN_PLACE_LOCAL,   /* a Unix socket: our own user and root have every scope */
};

struct sn_serve_options {
    struct sn_http_place places[SN_PLACES_MAX];
    bool is_tls[SN_PLACES_MAX]; /* which of them get the certificate below; the places' own
                                   certificate, key and authorities are filled in from it */
    size_t place_count;
    const char *tls_certificate;    /* file; NULL: one of our own, in the state folder */
    const char *tls_key;            /* file */
    const char *client_authorities; /* file; NULL: client certificates are not asked for */
    bool allows_plain;              /* away from loopback without TLS: somebody said so */
    struct sn_http_limits limits;
    struct sn_access_options access;
    bool is_dotnet_monitor;   /* its defaults where the two differ */
    const char *state_folder; /* keys, store, recordings */
    bool is_stateless;        /* set by sn_serve: nothing can be kept there, nor has to be */
    bool no_store;
    uint64_t store_bytes_max;  /* 0: 2 GB */
    uint64_t store_age_max_ns; /* 0: seven days */
    uint64_t interval_ns;      /* of counters; 0: one second (dotnet-monitor: five) */
    uint64_t max_series;       /* of the meters of a process; 0: 1000 */
    uint64_t max_histograms;   /* the same; 0: 20 */
    uint64_t meters_age_ns;    /* of processes that are asked for them; 0: 30 s */
    bool no_counters;
    const char *const *counters; /* as sonde_counters_options has them */
    size_t counter_count;
    struct sn_configuration *const *exports; /* what is sent on by itself; checked */
    size_t export_count;
    const char *const *disabled; /* resources that are switched off */
    size_t disabled_count;
    const char *prefix;        /* "" or "/sonde": behind a proxy */
    const char *audit_path;    /* NULL: audit.log in the state folder */
    const char *const *egress; /* "name=folder" */
    size_t egress_count;
    bool no_http_egress;
    unsigned worker_max;                             /* threads for what takes long; 0: 8 */
    size_t waiting_max;                              /* calls that wait for one of them; 0: 256 */
    const struct sn_process_filter *default_process; /* which one is meant where none is named */
    size_t default_process_count;                    /* 0: the only one there is */
    int signals; /* readable when it is to end: of cli/signals.h; borrows */
    /* Told once when it serves: where, and the link for a browser ("" when nobody listens on TCP).
     */
    void (*ready)(void *user, const char *const *urls, size_t url_count, const char *link);
    /* Before that, if it has a certificate: what a client pins, as 64 digits. */
    void (*certified)(void *user, const char *fingerprint);
    void *user;
};

/* Serves until `signals` is readable. Everything that runs is stopped well before it returns. */
int sn_serve(const struct sn_serve_options *options, struct sonde_error *err);

#endif
