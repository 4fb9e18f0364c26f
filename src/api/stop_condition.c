#include "api/stop_condition.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/payload.h"

#define CONDITION_MAX 16u
#define VALUE_LIMIT   65536u

struct condition {
    const char *field;
    const char *value;
};

struct stopper {
    struct sn_sink sink;
    struct sn_request_item item;
    struct sn_request request;
    char *text; /* what the conditions point into */
    struct condition conditions[CONDITION_MAX];
    size_t condition_count;
    bool *met;
};

static void value_text(const struct sn_value *value, struct sn_buf *out)
{
    switch (value->kind) {
    case SN_VALUE_TEXT16: sn_text_from_utf16(out, value->bytes, value->size / 2); break;
    case SN_VALUE_TEXT8: sn_buf_append(out, value->bytes, value->size); break;
    case SN_VALUE_BOOL: sn_buf_text(out, value->number ? "true" : "false"); break;
    case SN_VALUE_INT: sn_buf_format(out, "%" PRId64, (int64_t)value->number); break;
    case SN_VALUE_UINT:
    case SN_VALUE_TIME: sn_buf_format(out, "%" PRIu64, value->number); break;
    case SN_VALUE_FLOAT: {
        char text[32];
        sn_buf_text(out, sn_text_real(value->real, text));
        break;
    }
    default: break;
    }
}

static bool holds(const struct sn_event *event, const struct condition *condition)
{
    struct sn_value value;
    if (!sn_payload_find(event, condition->field, &value))
        return false;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(VALUE_LIMIT);
    value_text(&value, &text);
    if (value.kind == SN_VALUE_BOOL)
        return strcasecmp(sn_buf_string(&text), condition->value) == 0; /* .NET writes True */
    return strcmp(sn_buf_string(&text), condition->value) == 0;
}

static int look(struct sn_sink *sink, const struct sn_event *event)
{
    struct stopper *stopper = (struct stopper *)sink;
    if (event->schema == &sn_lost_schema)
        return SONDE_AGAIN;
    for (size_t i = 0; i < stopper->condition_count; i++) {
        if (!holds(event, &stopper->conditions[i]))
            return SONDE_AGAIN;
    }
    *stopper->met = true;
    return SONDE_END;
}

static void free_stopper(struct sn_sink *sink)
{
    struct stopper *stopper = (struct stopper *)sink;
    free(stopper->text);
    free(stopper);
}

static const struct sn_sink_ops stopper_ops = {
    .name = "stop condition", .event = look, .free = free_stopper};

static int parse_conditions(struct stopper *stopper, struct sonde_error *err)
{
    char *rest = NULL;
    for (char *part = strtok_r(stopper->text, ",", &rest); part;
         part = strtok_r(NULL, ",", &rest)) {
        char *colon = strchr(part, ':');
        if (!colon || colon == part || stopper->condition_count == CONDITION_MAX)
            return sn_fail(err, SONDE_E_ARGUMENT, 0,
                           "'%.64s' is not field:value, or there are more than %u of them", part,
                           CONDITION_MAX);
        *colon = '\0';
        stopper->conditions[stopper->condition_count++] = (struct condition){part, colon + 1};
    }
    return SONDE_OK;
}

int sn_stop_condition_add(struct sn_road *road, const char *provider, const char *event,
                          const char *payload, bool *ret_met, struct sonde_error *err)
{
    struct stopper *stopper = calloc(1, sizeof(*stopper));
    if (!stopper)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a stop condition");
    stopper->sink.ops = &stopper_ops;
    stopper->met = ret_met;
    stopper->text = strdup(payload ? payload : "");
    stopper->item = (struct sn_request_item){.provider = provider, .name = event};
    stopper->request = (struct sn_request){.item_count = 1, .items = &stopper->item};
    int rc = stopper->text ? parse_conditions(stopper, err)
                           : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a stop condition");
    if (rc != SONDE_OK) {
        free_stopper(&stopper->sink);
        return rc;
    }
    int number = sn_road_subscribe(road, &stopper->request, &stopper->sink, false, err);
    return number < 0 ? number : SONDE_OK;
}
