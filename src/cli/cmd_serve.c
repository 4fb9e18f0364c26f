/* sonde serve: the controller, for people and scripts, over HTTP. */
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/export_spec.h"
#include "cli/open_files.h"
#include "cli/scope_options.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "daemon/exposure.h"
#include "daemon/serve.h"
#include "daemon/state_folder.h"
#include "net/control_path.h"

#define ADDRESS        "127.0.0.1:52380"
#define STORE_SIZE_MIN 1000000u

struct arguments {
    struct sn_option_list listen;
    bool no_tcp;
    const char *socket;
    const char *tls;
    const char *tls_cert;
    const char *tls_key;
    const char *client_ca;
    const char *jwt_key;
    const char *jwt_subject;
    const char *jwt_issuer;
    const char *anonymous;
    bool plain_http;
    struct sn_option_list disabled;
    const char *state;
    bool no_store;
    uint64_t store_size;
    uint64_t store_age_ns;
    uint64_t interval_ns;
    struct sn_option_list counters;
    uint64_t max_series;
    uint64_t max_histograms;
    uint64_t meters_age_ns;
    bool no_counters;
    struct sn_option_list exports;
    const char *prefix;
    struct sn_option_list hosts;
    struct sn_option_list egress;
    const char *audit;
    const char *as;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sn_option options[] = {
    {'l', "listen", SN_OPTION_LIST, AT(listen), "ADDRESS",
     "where, once or more; " ADDRESS "; port 0: a free one"},
    {0, "no-tcp", SN_OPTION_FLAG, AT(no_tcp), NULL, "on the control socket only"},
    {0, "socket", SN_OPTION_TEXT, AT(socket), "PATH", "the control socket; 'none' for none"},
    {0, "tls", SN_OPTION_TEXT, AT(tls), "self-signed", "https with a certificate of its own"},
    {0, "tls-cert", SN_OPTION_TEXT, AT(tls_cert), "FILE", "https with this certificate (PEM)"},
    {0, "tls-key", SN_OPTION_TEXT, AT(tls_key), "FILE", "and its key (PEM)"},
    {0, "client-ca", SN_OPTION_TEXT, AT(client_ca), "FILE",
     "who shows a certificate of these authorities may control"},
    {0, "jwt-key", SN_OPTION_TEXT, AT(jwt_key), "KEY",
     "take tokens of this public key (base64url of a JWK)"},
    {0, "jwt-subject", SN_OPTION_TEXT, AT(jwt_subject), "NAME", "the sub that it must have"},
    {0, "jwt-issuer", SN_OPTION_TEXT, AT(jwt_issuer), "NAME", "its iss; dotnet-monitor's own"},
    {0, "anonymous", SN_OPTION_TEXT, AT(anonymous), "SCOPE",
     "what everybody may: metrics, read, control, attach, secrets"},
    {0, "plain-http", SN_OPTION_FLAG, AT(plain_http), NULL,
     "for other machines without TLS, too: keys can be read on the way"},
    {0, "disable", SN_OPTION_LIST, AT(disabled), "NAME,...",
     "switch resources off: dump, env, stacks ..."},
    {0, "state", SN_OPTION_TEXT, AT(state), "FOLDER", "keys, recordings and history"},
    {0, "no-store", SN_OPTION_FLAG, AT(no_store), NULL, "keep no history"},
    {0, "store-size", SN_OPTION_BYTES, AT(store_size), "SIZE", "of what is kept at most; 2GB"},
    {0, "store-age", SN_OPTION_DURATION, AT(store_age_ns), "TIME", "the oldest of it; 7 days"},
    {0, "interval", SN_OPTION_DURATION, AT(interval_ns), "TIME", "between values of counters; 1s"},
    {0, "counters", SN_OPTION_LIST, AT(counters), "SPEC",
     "an EventSource or meter, once or more: Shop.Orders[placed]"},
    {0, "max-series", SN_OPTION_NUMBER, AT(max_series), "COUNT", "of meters of a process; 1000"},
    {0, "max-histograms", SN_OPTION_NUMBER, AT(max_histograms), "COUNT",
     "each route of a service is one; 20"},
    {0, "meters-age", SN_OPTION_DURATION, AT(meters_age_ns), "TIME",
     "ask a process for its meters when it is that old; 30s"},
    {0, "no-counters", SN_OPTION_FLAG, AT(no_counters), NULL, "watch none"},
    {0, "export", SN_OPTION_LIST, AT(exports), "SPEC",
     "send counters on: graphite=tcp://carbon:2003, or a file"},
    {0, "prefix", SN_OPTION_TEXT, AT(prefix), "/PATH", "its path behind a reverse proxy"},
    {0, "allowed-host", SN_OPTION_LIST, AT(hosts), "NAME,...",
     "names by which it may be called, as a proxy does"},
    {0, "egress", SN_OPTION_LIST, AT(egress), "NAME=FOLDER", "where artefacts may be put instead"},
    {0, "audit", SN_OPTION_TEXT, AT(audit), "FILE", "who did what; audit.log in the state folder"},
    {0, "as", SN_OPTION_TEXT, AT(as), "dotnet-monitor", "with its ports, options and defaults"},
    SN_OPTIONS_END,
};

/* --- options --- */

static int take_prefix(const char *prefix, struct sn_serve_options *serve, struct sonde_error *err)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    size_t size = prefix ? strlen(prefix) : 0;
    if (!size || strcmp(prefix, "/") == 0)
        return SONDE_OK;
    if (prefix[0] != '/' || prefix[size - 1] == '/' || prefix[strspn(prefix, allowed)] ||
        strstr(prefix, "//") || strstr(prefix, ".."))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--prefix: '%s' is no path such as /sonde, without a slash at its end",
                       prefix);
    serve->prefix = prefix;
    return SONDE_OK;
}

static int take_scope(const char *name, struct sn_serve_options *serve, struct sonde_error *err)
{
    int scope = name ? sn_scope_find(name) : SN_SCOPE_NONE;
    if (scope < 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--anonymous: '%s' is none of metrics, read, control, attach, secrets",
                       name);
    serve->access.anonymous = (enum sn_scope)scope;
    return SONDE_OK;
}

/* "name=folder" each. */
static int check_egress(const struct sn_option_list *egress, struct sonde_error *err)
{
    for (size_t i = 0; i < egress->count; i++) {
        size_t size = strcspn(egress->items[i], "=");
        if (!size || size > 63 || !egress->items[i][size] || !egress->items[i][size + 1])
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "--egress: '%s' is not NAME=FOLDER",
                           egress->items[i]);
    }
    return SONDE_OK;
}

static int add_place(struct sn_serve_options *serve, const struct sn_http_place *place,
                     struct sonde_error *err)
{
    if (serve->place_count == SN_PLACES_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--listen: at most %u places", SN_PLACES_MAX);
    serve->places[serve->place_count++] = *place;
    return SONDE_OK;
}

static int add_addresses(const struct arguments *arguments, struct sn_serve_options *serve,
                         struct sonde_error *err)
{
    static const char *const standard[] = {ADDRESS};
    bool is_given = arguments->listen.count > 0;
    const char *const *addresses = is_given ? arguments->listen.items : standard;
    size_t count = arguments->no_tcp ? 0 : is_given ? arguments->listen.count : 1;
    int rc = SONDE_OK;
    if (arguments->no_tcp && is_given)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--no-tcp or --listen, not both");
    for (size_t i = 0; i < count && rc == SONDE_OK; i++) {
        struct sn_http_place place = {.address = addresses[i], .tag = SN_PLACE_API};
        if (serve->place_count < SN_PLACES_MAX)
            serve->is_tls[serve->place_count] = arguments->tls || arguments->tls_cert;
        rc = add_place(serve, &place, err);
    }
    return rc;
}

static int add_socket(const struct arguments *arguments, struct sn_serve_options *serve,
                      char path[SN_CONTROL_PATH_SIZE], struct sonde_error *err)
{
    struct sn_http_place place = {.tag = SN_PLACE_LOCAL, .unix_path = arguments->socket};
    if (arguments->socket && strcmp(arguments->socket, "none") == 0)
        return SONDE_OK;
    if (!arguments->socket) {
        int rc = sn_control_path_make(path, err);
        if (rc != SONDE_OK)
            return rc;
        place.unix_path = path;
    }
    return add_place(serve, &place, err);
}

static int take_tls(const struct arguments *arguments, struct sonde_error *err)
{
    if (!arguments->tls_cert != !arguments->tls_key)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--tls-cert and --tls-key go together: give both files");
    if (arguments->tls && strcmp(arguments->tls, "self-signed") != 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--tls: '%s' is not self-signed; for a certificate of yours give "
                       "--tls-cert and --tls-key",
                       arguments->tls);
    if (arguments->client_ca && !arguments->tls && !arguments->tls_cert)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--client-ca needs TLS: give --tls-cert and --tls-key, or --tls "
                       "self-signed");
    return SONDE_OK;
}

static void take_plain(const struct arguments *arguments, struct sn_serve_options *serve)
{
    serve->no_store = arguments->no_store;
    serve->allows_plain = arguments->plain_http;
    serve->store_bytes_max = arguments->store_size;
    serve->store_age_max_ns = arguments->store_age_ns;
    serve->interval_ns = arguments->interval_ns;
    serve->max_series = arguments->max_series;
    serve->max_histograms = arguments->max_histograms;
    serve->meters_age_ns = arguments->meters_age_ns;
    serve->no_counters = arguments->no_counters;
    serve->counters = arguments->counters.items;
    serve->counter_count = arguments->counters.count;
    serve->egress = arguments->egress.items;
    serve->egress_count = arguments->egress.count;
    serve->audit_path = arguments->audit;
    serve->access.jwt_public_key = arguments->jwt_key;
    serve->access.jwt_subject = arguments->jwt_subject;
    serve->access.jwt_issuer = arguments->jwt_issuer;
    serve->tls_certificate = arguments->tls_cert;
    serve->tls_key = arguments->tls_key;
    serve->client_authorities = arguments->client_ca;
    serve->access.certificate = arguments->client_ca ? SN_SCOPE_CONTROL : SN_SCOPE_NONE;
}

static int take_options(const struct arguments *arguments, struct sn_serve_options *serve,
                        char path[SN_CONTROL_PATH_SIZE], struct sonde_error *err)
{
    take_plain(arguments, serve);
    if (arguments->store_size && arguments->store_size < STORE_SIZE_MIN)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--store-size: the store needs at least 1MB; --no-store keeps none");
    if (arguments->max_series > INT32_MAX || arguments->max_histograms > INT32_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--max-series, --max-histograms: too many");
    int rc = take_prefix(arguments->prefix, serve, err);
    if (rc == SONDE_OK)
        rc = take_scope(arguments->anonymous, serve, err);
    if (rc == SONDE_OK)
        rc = check_egress(&arguments->egress, err);
    if (rc == SONDE_OK)
        rc = take_tls(arguments, err);
    if (rc == SONDE_OK)
        rc = add_addresses(arguments, serve, err);
    if (rc == SONDE_OK)
        rc = add_socket(arguments, serve, path, err);
    if (rc == SONDE_OK && !serve->place_count)
        rc = sn_fail(err, SONDE_E_ARGUMENT, 0,
                     "--no-tcp and --socket none leave no way in: drop one of them");
    return rc;
}

/* --- telling --- */

/* What makes it more open than it begins. */
static void say_exposure(const struct sn_serve_options *serve, const char *const *urls)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(8192);
    sn_exposure_describe(serve, urls, &text);
    if (text.size)
        (void)fputs(sn_buf_string(&text), stderr);
}

static void say_ready(void *user, const char *const *urls, size_t url_count, const char *link)
{
    say_exposure(user, urls);
    for (size_t i = 0; i < url_count; i++) {
        (void)fputs("listening on ", stdout);
        sn_terminal_put(stdout, SN_STYLE_NONE, urls[i]);
        (void)fputc('\n', stdout);
    }
    if (link[0]) {
        (void)fputs("open ", stdout);
        sn_terminal_put(stdout, SN_STYLE_BOLD, link);
        (void)fputs("  (good once, for ten minutes)\n", stdout);
    }
    (void)fflush(stdout);
}

static void say_certificate(void *user, const char *fingerprint)
{
    (void)user;
    (void)printf("certificate %s  (SHA-256, for --host-pin)\n", fingerprint);
}

/* What may be given as a list, too. */
struct lists {
    struct sn_word_list disabled;
    struct sn_word_list hosts;
    struct sn_export_specs exports;
};

static void lists_done_auto(struct lists *lists)
{
    sn_word_list_done(&lists->disabled);
    sn_word_list_done(&lists->hosts);
    sn_export_specs_done(&lists->exports);
}

static int take_lists(const struct arguments *arguments, struct lists *lists,
                      struct sn_serve_options *serve, struct sonde_error *err)
{
    int rc = sn_word_list_split(&lists->disabled, &arguments->disabled, err);
    if (rc == SONDE_OK)
        rc = sn_word_list_split(&lists->hosts, &arguments->hosts, err);
    if (rc == SONDE_OK)
        rc = sn_export_specs_read(&lists->exports, &arguments->exports, err);
    serve->disabled = lists->disabled.items;
    serve->disabled_count = lists->disabled.count;
    serve->access.host_names = lists->hosts.items;
    serve->access.host_name_count = lists->hosts.count;
    serve->exports = lists->exports.items;
    serve->export_count = lists->exports.count;
    if (rc == SONDE_OK && arguments->as)
        rc = sn_fail(err, SONDE_E_ARGUMENT, 0, "--as: '%s' is not dotnet-monitor", arguments->as);
    return rc;
}

static int run(const void *given, const struct sn_operands *operands)
{
    (void)operands;
    const struct arguments *arguments = given;
    char path[SN_CONTROL_PATH_SIZE];
    SN_AUTO(sn_free) char *state = NULL;
    SN_AUTO(sn_close) int signals = -1;
    SN_AUTO(lists_done) struct lists lists = {.disabled = {.count = 0}};
    struct sonde_error err = {0};
    struct sn_serve_options serve = {.ready = say_ready, .certified = say_certificate};
    int rc = take_options(arguments, &serve, path, &err);
    if (rc == SONDE_OK)
        rc = take_lists(arguments, &lists, &serve, &err);
    if (rc == SONDE_OK)
        rc = sn_state_folder_path(arguments->state, &state, &err);
    if (rc == SONDE_OK)
        rc = sn_signals_open(&signals, &err);
    if (rc == SONDE_OK) {
        serve.state_folder = state;
        serve.signals = signals;
        sn_open_files_raise();
        serve.user = &serve;
        rc = sn_serve(&serve, &err);
    }
    return rc == SONDE_OK ? SN_EXIT_DONE : sn_command_fail(&err);
}

const struct sn_command sn_cmd_serve = {
    .name = "serve",
    .usage = "[options]",
    .summary = "the controller: traces, counters and stacks of this machine's processes over HTTP",
    .examples = "  sonde serve\n"
                "  sonde serve --no-tcp\n"
                "  sonde serve --listen :52380 --tls self-signed\n"
                "  sonde serve --prefix /sonde --allowed-host shop.example\n"
                "  sonde serve --as dotnet-monitor\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .operand_max = 0,
    .run = run,
};
