#include "daemon/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/access.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/journey.h"
#include "daemon/json_body.h"
#include "daemon/query.h"
#include "daemon/rest_call.h"
#include "daemon/rest_reply.h"
#include "daemon/shared_page.h"
#include "daemon/topic_stream.h"
#include "net/http_server.h"

struct sn_router {
    struct sn_daemon *daemon;    /* borrows */
    struct sn_journey *journeys; /* owns: those under way */
    struct sn_router_numbers numbers;
    struct sn_shared_pages pages;
    bool is_closed;
};

int sn_router_new(struct sn_daemon *daemon, struct sn_router **ret_router, struct sonde_error *err)
{
    struct sn_router *router = calloc(1, sizeof(*router));
    if (!router)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the router");
    router->daemon = daemon;
    *ret_router = router;
    return SONDE_OK;
}

void sn_router_free(struct sn_router *router)
{
    if (!router)
        return;
    while (router->journeys)
        sn_journey_free(router->journeys);
    sn_shared_pages_done(&router->pages);
    free(router);
}

void sn_router_close(struct sn_router *router)
{
    router->is_closed = true;
}

/* "console" is what the page was called first. */
bool sn_router_is_disabled(const struct sn_daemon *daemon, const char *resource)
{
    const struct sn_serve_options *options = daemon->options;
    bool is_page = strcmp(resource, "page") == 0;
    for (size_t i = 0; i < options->disabled_count; i++) {
        if (strcmp(options->disabled[i], resource) == 0 ||
            (is_page && strcmp(options->disabled[i], "console") == 0))
            return true;
    }
    return false;
}

/* --- what it counts --- */

static void count(struct sn_router *router, unsigned status)
{
    router->numbers.answered[status < 600 ? status : 599]++;
}

static void note_scrape(struct sn_router *router, const struct sn_route *route)
{
    if (strcmp(route->path, "/metrics") != 0)
        return;
    router->numbers.scrape_count++;
    router->numbers.scrape_utc_ns = sn_clock_utc_ns();
}

static void write_down(struct sn_router *router, const struct sn_audit_entry *entry)
{
    if (router->daemon->audit && sn_audit_wants(entry))
        sn_audit_write(router->daemon->audit, entry);
}

/* Only who may see secrets gets one: what is compressed cannot be covered on its way out. */
static bool is_archive(const struct sn_rest_call *call)
{
    return call->status < 300 && call->content_type &&
           strcmp(call->content_type, "application/zip") == 0;
}

void sn_router_account(struct sn_router *router, const struct sn_journey *journey)
{
    const struct sn_rest_call *call = &journey->call;
    uint64_t took_ns = sn_clock_monotonic_ns() - journey->start_ns;
    count(router, call->status);
    router->numbers.busy_ns += took_ns;
    router->numbers.open_count--;
    write_down(router, &(struct sn_audit_entry){.who = &call->who,
                                                .peer = journey->peer,
                                                .method = journey->method,
                                                .path = journey->target,
                                                .status = call->status,
                                                .pid = call->pid,
                                                .about = call->about,
                                                .took_ns = took_ns,
                                                .needed = call->route->scope,
                                                .is_archive = is_archive(call)});
}

const struct sn_router_numbers *sn_router_numbers(const struct sn_router *router)
{
    return &router->numbers;
}

/* --- refusing --- */

struct refusal {
    unsigned status;
    const char *detail;
    const char *header; /* NULL: none */
    const char *value;
};

/* `who` NULL: that was not asked. */
static void refuse(struct sn_router *router, struct sn_http_exchange *exchange,
                   const struct sn_identity *who, const struct refusal *refusal)
{
    struct sn_rest_call call = {.daemon = router->daemon, .out = sn_buf_with_limit(64u << 10)};
    if (refusal->header)
        sn_rest_header(&call, refusal->header, "%s", refusal->value);
    sn_rest_problem(&call, refusal->status, "%s", refusal->detail);
    sn_rest_reply(&call, exchange);
    sn_buf_done(&call.out);
    count(router, refusal->status);
    static const struct sn_identity nobody = {.kind = "none"};
    write_down(router, &(struct sn_audit_entry){.who = who ? who : &nobody,
                                                .peer = sn_http_exchange_peer(exchange),
                                                .method = sn_http_exchange_method(exchange),
                                                .path = sn_http_exchange_path(exchange),
                                                .status = refusal->status});
}

/* Nothing is known of what was asked then, not even whether it is there. */
static void refuse_for_memory(struct sn_router *router, struct sn_http_exchange *exchange)
{
    refuse(router, exchange, NULL, &(struct refusal){503, "no memory", "Retry-After", "5"});
}

/* --- which route --- */

struct match {
    const struct sn_route *route;
    bool is_path_known;
    char allow[64]; /* methods of that path */
};

/* HEAD has no side effects: it is there where GET starts nothing. */
static bool takes_head(const struct sn_route *route)
{
    bool is_lookup = route->seat == SN_SEAT_HTTP || route->seat == SN_SEAT_STORE || route->has_head;
    return strcmp(route->method, "GET") == 0 && is_lookup && !route->is_stream;
}

static bool takes(const struct sn_route *route, const char *method)
{
    return strcmp(route->method, method) == 0 || (strcmp(method, "HEAD") == 0 && takes_head(route));
}

static void allow(struct match *match, const struct sn_route *route)
{
    size_t used = strlen(match->allow);
    if (!strstr(match->allow, route->method))
        (void)snprintf(match->allow + used, sizeof(match->allow) - used, "%s%s%s", used ? ", " : "",
                       route->method, takes_head(route) ? ", HEAD" : "");
}

/* Words win over variables. */
static void find_route(const struct sn_daemon *daemon, char *path, const char *method,
                       struct match *ret_match)
{
    int fewest = INT32_MAX;
    *ret_match = (struct match){0};
    for (const struct sn_route *const *table = sn_route_tables; *table; table++) {
        for (const struct sn_route *route = *table; route->method; route++) {
            int variable_count = sn_query_match(route, path, NULL);
            if (variable_count < 0 || sn_router_is_disabled(daemon, route->resource))
                continue;
            ret_match->is_path_known = true;
            allow(ret_match, route);
            if (takes(route, method) && variable_count < fewest) {
                fewest = variable_count;
                ret_match->route = route;
            }
        }
    }
}

/* Behind a proxy the prefix may be there or not, as the proxy likes it. */
static const char *bare_path(const struct sn_daemon *daemon, const char *path)
{
    const char *prefix = daemon->options->prefix ? daemon->options->prefix : "";
    size_t size = strlen(prefix);
    if (!size || strncmp(path, prefix, size) != 0 || (path[size] != '/' && path[size]))
        return path;
    return path[size] ? path + size : "/";
}

/* A copy without the slash at its end, which changes nothing. */
static char *copy_path(const char *path)
{
    size_t size = strlen(path);
    return strndup(path, size > 1 && path[size - 1] == '/' ? size - 1 : size);
}

/* --- what was asked --- */

static char *base_url(const struct sn_daemon *daemon, struct sn_http_exchange *exchange)
{
    const char *host = sn_http_exchange_header(exchange, "Host");
    const char *forwarded = sn_http_exchange_header(exchange, "X-Forwarded-Proto");
    bool is_secure =
        sn_http_exchange_is_tls(exchange) || (forwarded && strcasecmp(forwarded, "https") == 0);
    char *url = NULL;
    if (asprintf(&url, "%s://%s%s", is_secure ? "https" : "http", host ? host : "localhost",
                 daemon->options->prefix ? daemon->options->prefix : "") < 0)
        return NULL;
    return url;
}

static bool is_json(const char *type)
{
    size_t size = type ? strcspn(type, "; ") : 0;
    return (size == 16 && strncasecmp(type, "application/json", size) == 0) ||
           (size == 9 && strncasecmp(type, "text/json", size) == 0) ||
           (size > 17 && strncasecmp(type, "application/", 12) == 0 &&
            strncasecmp(type + size - 5, "+json", 5) == 0);
}

/* False: the call has its problem. */
static bool read_body(struct sn_rest_call *call, struct sn_http_exchange *exchange)
{
    size_t size;
    struct sonde_error err = {0};
    const char *bytes = sn_http_exchange_body(exchange, &size);
    if (!call->route->body_schema || !size)
        return true;
    if (!is_json(sn_http_exchange_header(exchange, "Content-Type"))) {
        sn_rest_problem(call, 415, "the body must be JSON: say Content-Type: application/json");
        return false;
    }
    if (sn_json_body_read(bytes, size, &call->body, &err) == SONDE_OK)
        return true;
    if (err.status == SONDE_E_FORMAT)
        sn_rest_invalid(call, "body", "%s", err.text);
    else
        sn_rest_failed(call, &err);
    return false;
}

static bool read_values(struct sn_journey *journey)
{
    struct sn_query_problem problem;
    struct sn_rest_call *call = &journey->call;
    (void)sn_query_match(call->route, journey->path, call->values);
    if (sn_query_read(call->route, journey->query, call->values, &problem))
        return true;
    sn_rest_invalid(call, problem.member, "%s", problem.text);
    return false;
}

static bool copy_texts(struct sn_journey *journey, struct sn_http_exchange *exchange,
                       const char *path)
{
    const char *accept = sn_http_exchange_header(exchange, "Accept");
    journey->path = copy_path(path);
    journey->query = strdup(sn_http_exchange_query(exchange));
    journey->accept = strdup(accept ? accept : "");
    journey->base_url = base_url(journey->router->daemon, exchange);
    if (!journey->path || !journey->query || !journey->accept || !journey->base_url)
        return false;
    journey->call.accept = journey->accept;
    journey->call.base_url = journey->base_url;
    (void)snprintf(journey->target, sizeof(journey->target), "%s", path);
    (void)snprintf(journey->method, sizeof(journey->method), "%s",
                   sn_http_exchange_method(exchange));
    (void)snprintf(journey->peer, sizeof(journey->peer), "%s", sn_http_exchange_peer(exchange));
    return true;
}

/* --- answers for many --- */

bool sn_router_share(struct sn_router *router, struct sn_journey *journey,
                     struct sn_http_exchange *exchange)
{
    struct sn_rest_call *call = &journey->call;
    if (!journey->asked || call->status != 200 || call->file || call->header_count ||
        call->out.failed || !call->out.size)
        return false;
    struct sn_shared_page *page = sn_shared_pages_put(&router->pages, call->route, call->who.scope,
                                                      &journey->asked, &call->out);
    if (!page)
        return false;
    page->content_type = call->content_type;
    sn_rest_reply_page(page, exchange);
    return true;
}

/* True: somebody has asked the same just now. Otherwise *ret_asked is for who asks next. */
static bool answer_again(struct sn_router *router, struct sn_http_exchange *exchange,
                         const struct sn_route *route, const struct sn_identity *who,
                         char **ret_asked)
{
    const char *path = sn_http_exchange_path(exchange);
    const char *accept = sn_http_exchange_header(exchange, "Accept");
    if (!route->share_ns)
        return false;
    *ret_asked =
        sn_shared_page_question(path, sn_http_exchange_query(exchange), accept ? accept : "");
    struct sn_shared_page *page =
        *ret_asked ? sn_shared_pages_find(&router->pages, route, who->scope, *ret_asked) : NULL;
    if (!page)
        return false;
    free(SN_TAKE(*ret_asked));
    sn_rest_reply_page(page, exchange);
    count(router, 200);
    write_down(router, &(struct sn_audit_entry){.who = who,
                                                .peer = sn_http_exchange_peer(exchange),
                                                .method = route->method,
                                                .path = path,
                                                .status = 200,
                                                .needed = route->scope});
    return true;
}

static void begin(struct sn_router *router, struct sn_http_exchange *exchange,
                  const struct sn_route *route, const struct sn_identity *who)
{
    const char *path = bare_path(router->daemon, sn_http_exchange_path(exchange));
    SN_AUTO(sn_free) char *asked = NULL;
    if (answer_again(router, exchange, route, who, &asked))
        return;
    struct sn_journey *journey = sn_journey_new(router, &router->journeys);
    if (!journey || !copy_texts(journey, exchange, path)) {
        if (journey)
            sn_journey_free(journey);
        refuse_for_memory(router, exchange);
        return;
    }
    router->numbers.open_count++;
    journey->asked = SN_TAKE(asked);
    journey->call.daemon = router->daemon;
    journey->call.route = route;
    journey->call.who = *who;
    journey->call.exchange_id = sn_http_exchange_id(exchange);
    bool is_sound = sn_rest_is_acceptable(&journey->call) && read_values(journey) &&
                    read_body(&journey->call, exchange);
    if (is_sound && !route->is_stream) {
        sn_journey_start(journey, exchange);
        return;
    }
    if (!is_sound || !sn_topic_stream_begin(&journey->call, exchange))
        sn_rest_reply(&journey->call, exchange);
    sn_router_account(router, journey);
    sn_journey_free(journey);
}

/* --- who asks --- */

/* The page for scrapers has one resource and no keys. */
static bool is_elsewhere(const struct sn_http_exchange *exchange, const struct sn_route *route)
{
    return sn_http_exchange_tag(exchange) == SN_PLACE_METRICS &&
           strcmp(route->path, "/metrics") != 0;
}

/* What would do, in the words of who asks: programs send keys, people log in. */
static void say_lacking(enum sn_scope needed, const struct sn_identity *who, char *to, size_t size)
{
    const char *scope = sn_scope_name(needed);
    const char *has = sn_scope_name(who->scope);
    if (strcmp(who->kind, "anonymous") == 0)
        (void)snprintf(to, size,
                       "this needs a key of scope '%s': send 'Authorization: Bearer KEY'; callers "
                       "without one have '%s'",
                       scope, has);
    else if (who->session)
        (void)snprintf(to, size,
                       "this needs the scope '%s', and you are logged in with '%s': log in with "
                       "another key, on the page under Settings",
                       scope, has);
    else
        (void)snprintf(to, size, "this needs a key of scope '%s'; the one shown has '%s'", scope,
                       has);
}

static bool may(struct sn_router *router, struct sn_http_exchange *exchange,
                const struct sn_route *route, struct sn_identity *ret_who)
{
    char detail[256];
    const char *why = "";
    sn_access_identify(router->daemon->access, exchange, ret_who, &why);
    if (sn_http_exchange_tag(exchange) == SN_PLACE_METRICS && ret_who->scope < SN_SCOPE_METRICS)
        ret_who->scope = SN_SCOPE_METRICS;
    if (ret_who->scope >= route->scope)
        return true;
    if (ret_who->scope == SN_SCOPE_NONE) {
        (void)snprintf(detail, sizeof(detail), "%s",
                       why[0] ? why : "who asks? send the key: Authorization: Bearer KEY");
        refuse(router, exchange, NULL,
               &(struct refusal){401, detail, "WWW-Authenticate", SN_ACCESS_CHALLENGE});
        return false;
    }
    say_lacking(route->scope, ret_who, detail, sizeof(detail));
    refuse(router, exchange, ret_who, &(struct refusal){403, detail, NULL, NULL});
    return false;
}

bool sn_router_is_early(void *user, const struct sn_http_exchange *exchange)
{
    const struct sn_router *router = user;
    struct match match;
    if (strcmp(sn_http_exchange_method(exchange), "POST") != 0)
        return false;
    SN_AUTO(sn_free)
    char *path = copy_path(bare_path(router->daemon, sn_http_exchange_path(exchange)));
    find_route(router->daemon, path ? path : (char[]){""}, "POST", &match);
    return match.route && match.route->takes_file;
}

void sn_router_handle(void *user, struct sn_http_exchange *exchange)
{
    struct sn_router *router = user;
    struct sn_identity who = {.kind = "none"};
    struct match match;
    const char *why = "";
    if (router->is_closed) {
        refuse(router, exchange, NULL,
               &(struct refusal){503, "the controller is ending", "Retry-After", "5"});
        return;
    }
    unsigned status = sn_access_refuses(router->daemon->access, exchange, &why);
    if (status) {
        refuse(router, exchange, NULL, &(struct refusal){status, why, NULL, NULL});
        return;
    }
    SN_AUTO(sn_free)
    char *path = copy_path(bare_path(router->daemon, sn_http_exchange_path(exchange)));
    if (!path) {
        refuse_for_memory(router, exchange);
        return;
    }
    find_route(router->daemon, path, sn_http_exchange_method(exchange), &match);
    if (!match.is_path_known || (match.route && is_elsewhere(exchange, match.route)))
        refuse(router, exchange, NULL,
               &(struct refusal){404, "there is no such resource", NULL, NULL});
    else if (!match.route)
        refuse(
            router, exchange, NULL,
            &(struct refusal){405, "the resource does not take this method", "Allow", match.allow});
    else if (may(router, exchange, match.route, &who)) {
        note_scrape(router, match.route);
        begin(router, exchange, match.route, &who);
    }
}
