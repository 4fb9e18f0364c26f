/* /api/v1/keys: the keys of the controller, as `sonde key` makes, lists and revokes them. The file
 * is changed by a worker, as its lock and the disk may take their time; the ring sees that it has
 * changed, whoever did it. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/key_file.h"
#include "daemon/query.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"

static void put_time(struct sn_json *json, const char *name, uint64_t s)
{
    char text[32];
    sn_json_text(json, name, s ? sn_clock_rfc3339(s * SN_NS_PER_SECOND, text) : NULL);
}

static void put_key(struct sn_json *json, const struct sn_key *key, const char *token)
{
    uint64_t now_s = sn_clock_utc_ns() / SN_NS_PER_SECOND;
    sn_json_object(json, NULL);
    sn_json_text(json, "id", key->id);
    sn_json_text(json, "name", key->name);
    sn_json_text(json, "scope", sn_scope_name(key->scope));
    put_time(json, "created", key->created_s);
    put_time(json, "expires", key->expires_s);
    sn_json_bool(json, "isOver", key->expires_s && key->expires_s <= now_s);
    put_time(json, "lastUsed", key->used_s);
    if (token)
        sn_json_text(json, "token", token);
    sn_json_close(json);
}

static void get_keys(struct sn_rest_call *call)
{
    const struct sn_key *keys;
    const char *problem;
    struct sn_json json = sn_json_to(&call->out);
    size_t count = sn_access_keys(call->daemon->access, &keys, &problem);
    sn_json_object(&json, NULL);
    sn_json_array(&json, "keys");
    for (size_t i = 0; i < count; i++)
        put_key(&json, &keys[i], NULL);
    sn_json_close(&json);
    sn_json_text(&json, "problem", problem);
    sn_json_close(&json);
}

/* --- making --- */

/* Where they are kept; NULL: the call has its problem. */
static const char *folder_of(struct sn_rest_call *call)
{
    const char *folder = call->daemon->options->access.state_folder;
    if (!folder)
        sn_rest_problem(call, 409,
                        "this controller keeps no keys, as its state folder cannot be written: "
                        "start it with --state FOLDER");
    return folder;
}

static bool has_strange_member(struct sn_rest_call *call)
{
    const char *name;
    json_t *value;
    json_object_foreach(call->body, name, value)
    {
        if (strcmp(name, "name") != 0 && strcmp(name, "scope") != 0 &&
            strcmp(name, "expires") != 0) {
            sn_rest_invalid(call, name, "there is no such member: name, scope and expires are");
            return true;
        }
    }
    return false;
}

static bool read_expiry(struct sn_rest_call *call, uint64_t *ret_s)
{
    uint64_t utc_ns = 0;
    const json_t *value = json_object_get(call->body, "expires");
    *ret_s = 0;
    if (!value || json_is_null(value))
        return true;
    const char *text = json_string_value(value);
    bool is_time = text && sn_query_time(text, &utc_ns);
    if (is_time && utc_ns > sn_clock_utc_ns()) {
        *ret_s = utc_ns / SN_NS_PER_SECOND;
        return true;
    }
    sn_rest_invalid(call, "expires",
                    is_time ? "that is over already: give a time to come, or null for never"
                            : "a time, such as 2030-01-31T12:00:00Z, or null for never");
    return false;
}

/* False: the call has its problem. */
static bool read_request(struct sn_rest_call *call, struct sn_key *ret_key)
{
    const json_t *name = json_object_get(call->body, "name");
    const char *scope_name = json_string_value(json_object_get(call->body, "scope"));
    int scope = scope_name ? sn_scope_find(scope_name) : -1;
    *ret_key = (struct sn_key){0};
    if (scope < 0) {
        sn_rest_invalid(call, "scope", "one of metrics, read, control, attach and secrets");
        return false;
    }
    if (name && (!json_string_value(name) || !json_string_length(name) ||
                 json_string_length(name) > SN_KEY_NAME_MAX)) {
        sn_rest_invalid(call, "name", "a text of 1 to %u letters, digits and . _ @ -",
                        SN_KEY_NAME_MAX);
        return false;
    }
    ret_key->scope = (enum sn_scope)scope;
    (void)snprintf(ret_key->name, sizeof(ret_key->name), "%s", name ? json_string_value(name) : "");
    return !has_strange_member(call) && read_expiry(call, &ret_key->expires_s);
}

static void post_key(struct sn_rest_call *call)
{
    char token[SN_TOKEN_SIZE];
    struct sn_key key;
    struct sonde_error err = {0};
    const char *folder = folder_of(call);
    if (!folder || !read_request(call, &key))
        return;
    int rc = sn_key_file_add(folder, &key, token, &err);
    if (rc == SONDE_E_ARGUMENT)
        sn_rest_invalid(call, "name", "%s", err.text);
    else if (rc == SONDE_E_BUSY)
        sn_rest_problem(call, 409, "%s", err.text);
    else if (rc != SONDE_OK)
        sn_rest_failed(call, &err);
    if (rc != SONDE_OK)
        return;
    struct sn_json json = sn_json_to(&call->out);
    call->status = 201;
    (void)snprintf(call->about, sizeof(call->about), "%s, scope %s", key.name,
                   sn_scope_name(key.scope));
    sn_rest_header(call, "Location", "%s/api/v1/keys/%s", call->base_url, key.id);
    put_key(&json, &key, token);
}

/* --- revoking --- */

static void delete_key(struct sn_rest_call *call)
{
    struct sn_key key;
    struct sonde_error err = {0};
    const char *folder = folder_of(call);
    if (!folder)
        return;
    int rc = sn_key_file_revoke(folder, sn_rest_text(call, "name"), &key, &err);
    if (rc == SONDE_E_NOT_FOUND)
        sn_rest_problem(call, 404, "no key has this id or name: it may have been revoked already");
    else if (rc != SONDE_OK)
        sn_rest_failed(call, &err);
    else {
        call->status = 204;
        (void)snprintf(call->about, sizeof(call->about), "%s, scope %s", key.name,
                       sn_scope_name(key.scope));
    }
}

/* --- routes --- */

static const struct sn_parameter name_parameters[] = {
    {.name = "name", .kind = SN_PARAMETER_TEXT, .summary = "id or name of the key"},
    {.name = NULL},
};

static const struct sn_response get_responses[] = {
    {200, "application/json", "KeyList", "the keys, without what they are"},
    {.status = 0},
};

static const struct sn_response post_responses[] = {
    {201, "application/json", "NewKey", "made: the token is told this once"},
    {409, "application/problem+json", "Problem", "there is a key of that name, or none are kept"},
    {.status = 0},
};

static const struct sn_response delete_responses[] = {
    {204, "", NULL, "revoked: it is refused from now on, as are its sessions"},
    {404, "application/problem+json", "Problem", "no such key"},
    {409, "application/problem+json", "Problem", "this controller keeps no keys"},
    {.status = 0},
};

const struct sn_route sn_key_routes[] = {
    {.method = "GET",
     .path = "/api/v1/keys",
     .resource = "keys",
     .scope = SN_SCOPE_SECRETS,
     .seat = SN_SEAT_HTTP,
     .responses = get_responses,
     .summary = "the keys: names, scopes and when they were used",
     .handle = get_keys},
    {.method = "POST",
     .path = "/api/v1/keys",
     .resource = "keys",
     .scope = SN_SCOPE_SECRETS,
     .seat = SN_SEAT_WORKER,
     .body_schema = "KeyRequest",
     .responses = post_responses,
     .summary = "make a key",
     .handle = post_key},
    {.method = "DELETE",
     .path = "/api/v1/keys/{name}",
     .resource = "keys",
     .scope = SN_SCOPE_SECRETS,
     .seat = SN_SEAT_WORKER,
     .parameters = name_parameters,
     .responses = delete_responses,
     .summary = "revoke a key",
     .handle = delete_key},
    {.method = NULL},
};
