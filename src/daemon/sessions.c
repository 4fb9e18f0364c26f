/* /api/v1/session: a browser exchanges the code of a link, or a key, for a cookie, and gives it
 * back. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"

static void put_who(struct sn_rest_call *call, const char *name, const char *kind,
                    enum sn_scope scope)
{
    struct sn_json json = sn_json_to(&call->out);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "name", name);
    sn_json_text(&json, "kind", kind);
    sn_json_text(&json, "scope", sn_scope_name(scope));
    sn_json_close(&json);
}

static void get_session(struct sn_rest_call *call)
{
    put_who(call, call->who.name, call->who.kind, call->who.scope);
}

static void post_session(struct sn_rest_call *call)
{
    char cookie[256];
    struct sonde_error err = {0};
    struct sn_access *access = call->daemon->access;
    const char *code = json_string_value(json_object_get(call->body, "code"));
    const char *key = json_string_value(json_object_get(call->body, "key"));
    bool is_tls = strncmp(call->base_url, "https:", 6) == 0;
    struct sn_identity who;
    if (!code == !key) {
        sn_rest_invalid(call, key ? "key" : "code", "the code of a link or a key, as text: one");
        return;
    }
    int rc = code ? sn_access_redeem(access, code, is_tls, cookie, &who, &err)
                  : sn_access_login(access, key, is_tls, cookie, &who, &err);
    if (rc != SONDE_OK) {
        sn_rest_problem(call, 403, "%s", err.text);
        return;
    }
    call->status = 201;
    (void)snprintf(call->about, sizeof(call->about), "%s %.60s", code ? "link" : "key", who.name);
    sn_rest_header(call, "Set-Cookie", "%s", cookie);
    put_who(call, who.name, who.kind, who.scope);
}

static void delete_session(struct sn_rest_call *call)
{
    char cookie[256];
    if (!call->who.session) {
        sn_rest_problem(call, 404, "this request has no session: it was not made with a cookie");
        return;
    }
    sn_access_leave(call->daemon->access, call->who.session, cookie);
    sn_rest_header(call, "Set-Cookie", "%s", cookie);
    call->status = 204;
}

static const struct sn_response get_responses[] = {
    {200, "application/json", "Session", "who asks"},
    {.status = 0},
};

static const struct sn_response post_responses[] = {
    {201, "application/json", "Session", "let in: the cookie is in Set-Cookie"},
    {403, "application/problem+json", "Problem",
     "the code was used, is too old or never was; the key is not known or is over"},
    {.status = 0},
};

static const struct sn_response delete_responses[] = {
    {204, "", NULL, "logged out"},
    {404, "application/problem+json", "Problem", "there was no session"},
    {.status = 0},
};

const struct sn_route sn_session_routes[] = {
    {.method = "GET",
     .path = "/api/v1/session",
     .resource = "session",
     .scope = SN_SCOPE_METRICS,
     .seat = SN_SEAT_HTTP,
     .responses = get_responses,
     .summary = "who asks, and what he may",
     .handle = get_session},
    {.method = "POST",
     .path = "/api/v1/session",
     .resource = "session",
     .scope = SN_SCOPE_NONE,
     .seat = SN_SEAT_HTTP,
     .body_schema = "SessionRequest",
     .responses = post_responses,
     .summary = "exchange the one-time code of a link, or a key, for a cookie",
     .handle = post_session},
    {.method = "DELETE",
     .path = "/api/v1/session",
     .resource = "session",
     .scope = SN_SCOPE_METRICS,
     .seat = SN_SEAT_HTTP,
     .responses = delete_responses,
     .summary = "log out",
     .handle = delete_session},
    {.method = NULL},
};
