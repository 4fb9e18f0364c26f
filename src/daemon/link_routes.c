/* /api/v1/links: another one-time link, as the start prints one. */
#include "daemon/link_routes.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/own_hosts.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"
#include "daemon/session_table.h"

#define MARK "/#code="

int sn_link_new(struct sn_daemon *daemon, const struct sn_identity *maker, char to[SN_LINK_SIZE],
                struct sonde_error *err)
{
    char code[48];
    char shown[SN_OWN_HOSTS_SHOWN];
    to[0] = '\0';
    if (!daemon->browser_url)
        return SONDE_OK;
    int rc = sn_access_new_code(daemon->access, maker, code, err);
    if (rc == SONDE_OK)
        (void)snprintf(to, SN_LINK_SIZE, "%s%s" MARK "%s",
                       sn_own_hosts_shown(daemon->browser_url, shown), daemon->options->prefix,
                       code);
    return rc;
}

static void post_link(struct sn_rest_call *call)
{
    char link[SN_LINK_SIZE];
    char until[32];
    struct sonde_error err = {0};
    struct sn_json json = sn_json_to(&call->out);
    if (sn_link_new(call->daemon, &call->who, link, &err) != SONDE_OK) {
        sn_rest_failed(call, &err);
        return;
    }
    const char *mark = strstr(link, MARK);
    if (!mark) {
        sn_rest_problem(call, 409,
                        "this controller does not listen on TCP, so that no browser can open it: "
                        "start it with --listen 127.0.0.1:52380");
        return;
    }
    call->status = 201;
    sn_json_object(&json, NULL);
    sn_json_text(&json, "url", link);
    sn_json_text(&json, "code", mark + strlen(MARK));
    sn_json_text(&json, "expires",
                 sn_clock_rfc3339(sn_clock_utc_ns() + SN_SESSION_CODE_LIFE_NS, until));
    sn_json_close(&json);
}

static const struct sn_response responses[] = {
    {201, "application/json", "Link",
     "good once, for ten minutes; who opens it is let in as far and as long as who asked for it"},
    {409, "application/problem+json", "Problem", "no browser can open it: it listens on no TCP"},
    {.status = 0},
};

const struct sn_route sn_link_routes[] = {
    {.method = "POST",
     .path = "/api/v1/links",
     .resource = "links",
     .scope = SN_SCOPE_SECRETS,
     .seat = SN_SEAT_HTTP,
     .responses = responses,
     .summary = "make a one-time link that lets a browser in",
     .handle = post_link},
    {.method = NULL},
};
