/* /api/v1/settings: how open the controller is, what it keeps and for how long, whom it sends to,
 * and what it costs. Read from what others have published: also told when a disk or a receiver
 * hangs. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/export_desk.h"
#include "daemon/exposure.h"
#include "daemon/own_cost.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"
#include "daemon/router.h"
#include "daemon/store_desk.h"

#define SIZE_MIN_BYTES 1000000
#define SIZE_MAX_BYTES 1e15
#define AGE_MIN_S      60
#define AGE_MAX_S      (100.0 * 366 * 24 * 3600)

static void put_time(struct sn_json *json, const char *name, uint64_t utc_ns)
{
    char text[32];
    sn_json_text(json, name, utc_ns ? sn_clock_rfc3339(utc_ns, text) : NULL);
}

/* --- exposure --- */

static void put_place(struct sn_rest_call *call, struct sn_json *json, size_t at)
{
    static const char *const kinds[] = {"api", "metrics", "socket"};
    const struct sn_daemon *daemon = call->daemon;
    const struct sn_http_place *place = &daemon->options->places[at];
    bool shows_path = place->address || call->who.scope >= SN_SCOPE_SECRETS;
    sn_json_object(json, NULL);
    sn_json_text(json, "url", shows_path ? daemon->urls[at] : "unix:");
    sn_json_text(json, "serves", kinds[place->tag]);
    sn_json_bool(json, "isTls", daemon->options->is_tls[at]);
    sn_json_bool(json, "isReachable", daemon->exposure->is_reachable[at]);
    sn_json_close(json);
}

/* What an exporter listens on is not ours to serve, but just as open. */
static void put_exporter_places(struct sn_rest_call *call, struct sn_json *json)
{
    char url[SN_EXPORT_PLACE_SIZE];
    for (size_t i = 0; sn_export_desk_place(call->daemon->exporters, i, url); i++) {
        if (!*url)
            continue;
        sn_json_object(json, NULL);
        sn_json_text(json, "url", url);
        sn_json_text(json, "serves", "metrics");
        sn_json_bool(json, "isTls", false);
        sn_json_bool(json, "isReachable", sn_exposure_is_open(url));
        sn_json_close(json);
    }
}

static void warn_of_exporters(struct sn_rest_call *call, struct sn_json *json)
{
    char url[SN_EXPORT_PLACE_SIZE];
    char text[SN_EXPORT_PLACE_SIZE + 96];
    for (size_t i = 0; sn_export_desk_place(call->daemon->exporters, i, url); i++) {
        if (!*url || !sn_exposure_is_open(url))
            continue;
        (void)snprintf(text, sizeof(text),
                       "%s shows metrics to everybody who can reach it, without a key", url);
        sn_json_text(json, NULL, text);
    }
}

static void put_list(struct sn_json *json, const char *name, const char *const *items, size_t count)
{
    sn_json_array(json, name);
    for (size_t i = 0; i < count; i++)
        sn_json_text(json, NULL, items[i]);
    sn_json_close(json);
}

static void put_warnings(struct sn_rest_call *call, struct sn_json *json)
{
    sn_json_array(json, "warnings");
    for (const char *at = call->daemon->exposure->warnings; at && *at;) {
        size_t size = strcspn(at, "\n");
        sn_json_bytes(json, NULL, at, size);
        at += size + (at[size] == '\n');
    }
    warn_of_exporters(call, json);
    sn_json_close(json);
}

static void put_exposure(struct sn_rest_call *call, struct sn_json *json)
{
    const struct sn_serve_options *options = call->daemon->options;
    sn_json_object(json, "exposure");
    sn_json_array(json, "places");
    for (size_t i = 0; i < options->place_count; i++)
        put_place(call, json, i);
    put_exporter_places(call, json);
    sn_json_close(json);
    sn_json_text(json, "anonymousScope", sn_scope_name(options->access.anonymous));
    sn_json_text(json, "certificateScope", sn_scope_name(options->access.certificate));
    sn_json_bool(json, "takesKeys", options->access.state_folder != NULL);
    sn_json_bool(json, "takesJwt", options->access.jwt_public_key != NULL);
    sn_json_bool(json, "hasAuditLog", call->daemon->audit != NULL);
    put_list(json, "allowedHosts", options->access.host_names, options->access.host_name_count);
    sn_json_text(json, "prefix", options->prefix);
    put_list(json, "disabled", options->disabled, options->disabled_count);
    put_warnings(call, json);
    sn_json_close(json);
}

/* --- retention --- */

static void put_retention(struct sn_rest_call *call, struct sn_json *json)
{
    struct sn_store_health health;
    struct sn_store_numbers numbers;
    struct sn_store_desk *store = call->daemon->store;
    sn_store_desk_health(store, &health);
    bool is_changed = sn_store_desk_numbers(store, &numbers);
    sn_json_object(json, "retention");
    sn_json_bool(json, "isKept", store != NULL);
    sn_json_u64(json, "sizeBytes", numbers.bytes_max);
    sn_json_u64(json, "ageSeconds", numbers.age_max_ns / SN_NS_PER_SECOND);
    sn_json_bool(json, "isUntilRestart", is_changed);
    sn_json_u64(json, "usedBytes", health.bytes);
    sn_json_u64(json, "freeBytes", numbers.free_bytes);
    put_time(json, "oldest", numbers.oldest_utc_ns);
    sn_json_u64(json, "processes", numbers.process_count);
    sn_json_u64(json, "series", numbers.series_count);
    sn_json_u64(json, "recordings", numbers.recording_count);
    sn_json_u64(json, "recordingBytes", numbers.recording_bytes);
    sn_json_u64(json, "droppedPoints", health.dropped_count);
    sn_json_u64(json, "clampedPoints", health.clamped_count);
    sn_json_u64(json, "damagedChunks", health.damaged_count);
    sn_json_text(json, "setAside", health.set_aside);
    sn_json_bool(json, "isDegraded", health.is_degraded);
    sn_json_text(json, "why", health.is_degraded ? health.why : "");
    sn_json_close(json);
}

/* --- all of it --- */

static void put_scrapes(struct sn_rest_call *call, struct sn_json *json)
{
    const struct sn_router_numbers *numbers = sn_router_numbers(call->daemon->router);
    sn_json_object(json, "scrapes");
    sn_json_text(json, "path", "/metrics");
    sn_json_bool(json, "isOn",
                 !call->daemon->options->no_counters &&
                     !sn_router_is_disabled(call->daemon, "metrics"));
    sn_json_u64(json, "count", numbers->scrape_count);
    put_time(json, "last", numbers->scrape_utc_ns);
    sn_json_close(json);
}

static void get_settings(struct sn_rest_call *call)
{
    struct sn_json json = sn_json_to(&call->out);
    sn_json_object(&json, NULL);
    put_exposure(call, &json);
    put_retention(call, &json);
    sn_json_array(&json, "exporters");
    sn_export_desk_write(call->daemon->exporters, &json);
    sn_json_close(&json);
    put_scrapes(call, &json);
    sn_json_object(&json, "cost");
    sn_own_cost_write(call->daemon, &json);
    sn_json_close(&json);
    sn_json_close(&json);
}

/* --- changing --- */

struct change {
    uint64_t bytes_max;  /* 0: as it is */
    uint64_t age_max_ns; /* likewise */
};

/* False: the call has its problem. */
static bool read_number(struct sn_rest_call *call, const char *member, double min, double max,
                        double *ret_value)
{
    const json_t *value = json_object_get(json_object_get(call->body, "retention"), member);
    *ret_value = json_number_value(value);
    if (!value || (json_is_number(value) && *ret_value >= min && *ret_value <= max))
        return true;
    sn_rest_invalid(call, member, "a number from %.15g to %.15g", min, max);
    return false;
}

/* Nothing but what can be changed: a word that is passed over would be taken for done. */
static bool has_known_members(struct sn_rest_call *call)
{
    const char *name;
    json_t *value;
    json_t *retention = json_object_get(call->body, "retention");
    if (!json_is_object(retention) || json_object_size(call->body) != 1) {
        sn_rest_invalid(call, "retention",
                        "{\"retention\": {\"sizeBytes\": 2000000000, "
                        "\"ageSeconds\": 604800}}: that alone can be changed");
        return false;
    }
    json_object_foreach(retention, name, value)
    {
        if (strcmp(name, "sizeBytes") != 0 && strcmp(name, "ageSeconds") != 0) {
            sn_rest_invalid(call, name, "sizeBytes and ageSeconds can be changed, nothing else");
            return false;
        }
    }
    return true;
}

static void change_store(struct sn_rest_call *call)
{
    const struct change *change = call->user;
    sn_store_desk_limit(call->daemon->store, change->bytes_max, change->age_max_ns);
    sn_rest_move(call, SN_SEAT_HTTP, get_settings);
}

static void patch_settings(struct sn_rest_call *call)
{
    double bytes;
    double age_s;
    if (!has_known_members(call) ||
        !read_number(call, "sizeBytes", SIZE_MIN_BYTES, SIZE_MAX_BYTES, &bytes) ||
        !read_number(call, "ageSeconds", AGE_MIN_S, AGE_MAX_S, &age_s))
        return;
    struct change *change = malloc(sizeof(*change));
    if (!change) {
        sn_rest_problem(call, 503, "no memory");
        return;
    }
    *change = (struct change){(uint64_t)bytes, (uint64_t)(age_s * (double)SN_NS_PER_SECOND)};
    call->user = change;
    call->free_user = free;
    sn_rest_move(call, SN_SEAT_STORE, change_store);
}

/* --- routes --- */

static const struct sn_response get_responses[] = {
    {200, "application/json", "Settings", "exposure, retention, exporters and cost"},
    {.status = 0},
};

static const struct sn_response patch_responses[] = {
    {200, "application/json", "Settings", "changed, until the controller ends"},
    {404, "application/problem+json", "Problem", "nothing is kept: there is no store"},
    {.status = 0},
};

const struct sn_route sn_settings_routes[] = {
    {.method = "GET",
     .path = "/api/v1/settings",
     .resource = "settings",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_HTTP,
     .responses = get_responses,
     .summary = "how the controller is set up, and how it fares",
     .handle = get_settings},
    {.method = "PATCH",
     .path = "/api/v1/settings",
     .resource = "settings",
     .scope = SN_SCOPE_SECRETS,
     .seat = SN_SEAT_HTTP,
     .body_schema = "SettingsChange",
     .responses = patch_responses,
     .summary = "change how much is kept and for how long, until the controller ends",
     .handle = patch_settings},
    {.method = NULL},
};
