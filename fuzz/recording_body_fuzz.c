/* Any bytes as the body that configures a recording, or changes one: what is refused is a problem
 * with its reason; what is taken says which processes, what for and for how long. JSON that is read
 * is written and read again as the same. */
#include "daemon/recording_body.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/json_body.h"
#include "daemon/rest_call.h"

#define BODY_LIMIT (64u << 10)

static void check_again(const json_t *body)
{
    char *text = json_dumps(body, JSON_ENCODE_ANY);
    json_t *again = NULL;
    if (!text || sn_json_body_read(text, strlen(text), &again, NULL) != SONDE_OK ||
        !json_equal(body, again))
        abort();
    json_decref(again);
    free(text);
}

static void check_problem(const struct sn_rest_call *call)
{
    if (call->status < 400 || !call->out.size)
        abort();
}

static void check_body(const struct sn_recording_body *body)
{
    const struct sn_operation_request *request = &body->request;
    bool is_chosen = body->target.pid || body->target.name || body->target.uid;
    if (!request->kind || is_chosen == body->target.is_machine)
        abort();
    if (request->duration_ns != UINT64_MAX &&
        (request->duration_ns < 1000000 ||
         (double)request->duration_ns > SN_RECORDING_DURATION_MAX * 1e9))
        abort();
    if (json_object_get(request->settings, "enabled"))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde_error err = {0};
    struct sn_recording_body body;
    enum sn_recording_change change;
    struct sn_rest_call call = {.status = 200, .accept = "", .base_url = ""};
    struct sn_rest_call other = {.status = 200, .accept = "", .base_url = ""};
    if (sn_json_body_read((const char *)data, size, &call.body, &err) != SONDE_OK) {
        if (!err.text[0])
            abort();
        return 0;
    }
    call.out = sn_buf_with_limit(BODY_LIMIT);
    other.out = sn_buf_with_limit(BODY_LIMIT);
    other.body = call.body;
    check_again(call.body);
    if (!sn_recording_body_change(&other, &change))
        check_problem(&other);
    if (sn_recording_body_read(&call, &body))
        check_body(&body);
    else
        check_problem(&call);
    sn_buf_done(&other.out);
    sn_buf_done(&call.out);
    json_decref(call.body);
    return 0;
}
