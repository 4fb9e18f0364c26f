/* /api/v1/processes/{pid}/environment: the variables of a process; below the secrets scope their
 * names only, as nobody can tell which values are secret. */
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/redact_words.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"
#include "sonde/target.h"

struct listing {
    struct sn_json json;
    bool shows_values;
};

static void put_variable(void *user, const char *variable, size_t size)
{
    struct listing *listing = user;
    const char *sign = memchr(variable, '=', size);
    size_t name = sign ? (size_t)(sign - variable) : size;
    if (!name)
        return;
    sn_json_object(&listing->json, NULL);
    sn_json_bytes(&listing->json, "name", variable, name);
    if (listing->shows_values && sign)
        sn_json_bytes(&listing->json, "value", sign + 1, size - name - 1);
    else
        sn_json_text(&listing->json, "value", SN_REDACT_HIDDEN);
    sn_json_close(&listing->json);
}

static void get_environment(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct listing listing = {.json = sn_json_to(&call->out),
                              .shows_values = call->who.scope >= SN_SCOPE_SECRETS};
    call->pid = (uint32_t)sn_rest_number(call, "pid");
    sn_json_object(&listing.json, NULL);
    sn_json_u64(&listing.json, "pid", call->pid);
    sn_json_bool(&listing.json, "isRedacted", !listing.shows_values);
    sn_json_array(&listing.json, "variables");
    int rc = sonde_target_environment(call->pid, put_variable, &listing, &err);
    sn_json_close(&listing.json);
    sn_json_close(&listing.json);
    if (rc == SONDE_OK)
        return;
    sn_buf_clear(&call->out);
    sn_rest_failed(call, &err);
}

static const struct sn_parameter parameters[] = {
    {.name = "pid",
     .kind = SN_PARAMETER_NUMBER,
     .summary = "the process, as the controller's machine counts it",
     .min = 1,
     .max = INT32_MAX,
     .is_required = true},
    {.name = NULL},
};

static const struct sn_response responses[] = {
    {200, "application/json", "Environment",
     "its variables as the runtime has them; below the secrets scope without their values"},
    {404, "application/problem+json", "Problem", "there is no such process"},
    {.status = 0},
};

const struct sn_route sn_environment_routes[] = {
    {.method = "GET",
     .path = "/api/v1/processes/{pid}/environment",
     .resource = "env",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_WORKER,
     .parameters = parameters,
     .responses = responses,
     .summary = "the environment of a process",
     .handle = get_environment},
    {.method = NULL},
};
