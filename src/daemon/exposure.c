#include "daemon/exposure.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "daemon/own_hosts.h"
#include "daemon/state_folder.h"
#include "net/lookup.h"
#include "net/url.h"

/* A name that is not localhost may mean any address, today or tomorrow. */
static int is_reachable(const struct sn_http_place *place, bool *ret_is, struct sonde_error *err)
{
    struct sn_url url;
    *ret_is = false;
    if (!place->address)
        return SONDE_OK;
    int rc = sn_url_parse_listen(place->address, &url, err);
    if (rc != SONDE_OK || sn_own_hosts_is_loopback(url.host))
        return rc;
    *ret_is = true;
    if (!url.host[0] || sn_own_hosts_is_number(url.host))
        return SONDE_OK;
    struct addrinfo *found = NULL; /* whether it is a name at all is told before anything else */
    struct sonde_error cause = {0};
    if (sn_lookup(&url, AI_PASSIVE, &found, &cause) != SONDE_OK)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%.300s", cause.text);
    freeaddrinfo(found);
    return SONDE_OK;
}

static bool has_names(const struct sn_serve_options *options)
{
    return options->state_folder || options->access.state_folder ||
           options->access.jwt_public_key || options->client_authorities;
}

static int refuse_plain(const struct sn_serve_options *options, const struct sn_http_place *place,
                        struct sonde_error *err)
{
    static const char own[] = "add --tls-cert FILE and --tls-key FILE or --tls self-signed, listen "
                              "on 127.0.0.1, or say --anonymous SCOPE or --plain-http";
    static const char monitor[] = "give --urls an https address, or http://localhost, or say "
                                  "--plain-http (DotnetMonitor_AllowPlainHttp=true) or --no-auth";
    return sn_fail(err, SONDE_E_ARGUMENT, 0,
                   "%.100s can be reached from other machines, and without TLS keys could be read "
                   "on the way: %s",
                   place->address, options->is_dotnet_monitor ? monitor : own);
}

static int check_place(const struct sn_serve_options *options, size_t at, struct sonde_error *err)
{
    bool is_open;
    const struct sn_http_place *place = &options->places[at];
    int rc = is_reachable(place, &is_open, err);
    if (rc != SONDE_OK || !is_open || place->tag == SN_PLACE_METRICS || options->access.anonymous)
        return rc;
    if (!options->is_tls[at] && !options->allows_plain)
        return refuse_plain(options, place, err);
    if (!has_names(options))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "%.100s can be reached from other machines, and nobody has a key: add "
                       "--state FOLDER for keys or --client-ca FILE, listen on 127.0.0.1, or say "
                       "--anonymous SCOPE",
                       place->address);
    return SONDE_OK;
}

int sn_exposure_check(const struct sn_serve_options *options, struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (size_t i = 0; i < options->place_count && rc == SONDE_OK; i++)
        rc = check_place(options, i, err);
    return rc;
}

static int open_certificate(const struct sn_serve_options *options, struct sn_exposure *exposure,
                            struct sonde_error *err)
{
    int rc = SONDE_OK;
    if (!options->tls_certificate && !options->state_folder)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "a certificate of its own needs a place to keep it: give --state FOLDER");
    if (options->tls_certificate)
        rc = sn_certificate_load(options->tls_certificate, options->tls_key, &exposure->certificate,
                                 err);
    else
        rc = sn_state_folder_make(options->state_folder, err);
    if (rc == SONDE_OK && !options->tls_certificate)
        rc = sn_certificate_own(options->state_folder, &exposure->certificate, err);
    if (rc == SONDE_OK && options->client_authorities)
        rc = sn_certificate_authorities(options->client_authorities, &exposure->authorities, err);
    return rc;
}

int sn_exposure_open(struct sn_serve_options *options, struct sn_exposure *exposure,
                     struct sonde_error *err)
{
    int rc = sn_exposure_check(options, err);
    for (size_t i = 0; i < options->place_count && rc == SONDE_OK; i++) {
        if (!options->is_tls[i])
            continue;
        if (!exposure->certificate.chain)
            rc = open_certificate(options, exposure, err);
        options->places[i].certificate = exposure->certificate.chain;
        options->places[i].key = exposure->certificate.key;
        options->places[i].authorities = exposure->authorities;
    }
    return rc;
}

void sn_exposure_done(struct sn_exposure *exposure)
{
    sn_certificate_done(&exposure->certificate);
    free(exposure->authorities);
    free(exposure->warnings);
    exposure->authorities = exposure->warnings = NULL;
}

void sn_exposure_describe(const struct sn_serve_options *options, const char *const *urls,
                          struct sn_buf *to)
{
    for (size_t i = 0; i < options->place_count; i++) {
        const struct sn_http_place *place = &options->places[i];
        bool is_open = false;
        if (!place->address || is_reachable(place, &is_open, NULL) != SONDE_OK)
            continue;
        char shown[SN_OWN_HOSTS_SHOWN];
        const char *where = sn_own_hosts_shown(urls[i], shown);
        const char *who = is_open ? "everybody who can reach it" : "everybody on this machine";
        if (place->tag == SN_PLACE_METRICS && is_open)
            sn_buf_format(to, "%s shows /metrics to %s, without a key\n", where, who);
        else if (place->tag == SN_PLACE_API && options->access.anonymous)
            sn_buf_format(to, "%s serves %s without a key, up to the scope '%s'\n", where, who,
                          sn_scope_name(options->access.anonymous));
        if (place->tag == SN_PLACE_API && is_open && !options->is_tls[i] &&
            options->access.anonymous < SN_SCOPE_SECRETS)
            sn_buf_format(to, "%s can be reached without TLS: keys can be read on the way\n",
                          where);
    }
}

void sn_exposure_note(const struct sn_serve_options *options, const char *const *urls,
                      struct sn_exposure *exposure)
{
    struct sn_buf text = sn_buf_with_limit(8192);
    for (size_t i = 0; i < options->place_count; i++)
        (void)is_reachable(&options->places[i], &exposure->is_reachable[i], NULL);
    sn_exposure_describe(options, urls, &text);
    exposure->warnings = strdup(sn_buf_string(&text));
    sn_buf_done(&text);
}

bool sn_exposure_is_open(const char *url)
{
    struct sn_url parts;
    return sn_url_parse(url, &parts, NULL) != SONDE_OK || !sn_own_hosts_is_loopback(parts.host);
}
