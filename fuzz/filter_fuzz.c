/* Any text as a condition, over any payload of an event with fields of every kind: it is refused
 * with a place within it, or it and its negation disagree about every event.
 *
 * Input: the condition, a zero, the payload. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "model/event.h"
#include "model/event_filter.h"
#include "model/schema.h"

static const struct sn_field pair_fields[] = {{.name = "Key", .type = SN_TYPE_STRING16},
                                              {.name = "Value", .type = SN_TYPE_STRING16}};
static const struct sn_field pair = {
    .name = "", .type = SN_TYPE_OBJECT, .child_count = 2, .children = pair_fields};
static const struct sn_field number = {.name = "", .type = SN_TYPE_I32};
static const struct sn_field fields[] = {
    {.name = "t", .type = SN_TYPE_STRING16},
    {.name = "n", .type = SN_TYPE_STRING8},
    {.name = "p", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &pair},
    {.name = "o", .type = SN_TYPE_OBJECT, .child_count = 2, .children = pair_fields},
    {.name = "a", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &number},
    {.name = "u", .type = SN_TYPE_U64},
    {.name = "i", .type = SN_TYPE_I16},
    {.name = "f", .type = SN_TYPE_F32},
    {.name = "d", .type = SN_TYPE_F64},
    {.name = "b", .type = SN_TYPE_BOOL8},
    {.name = "g", .type = SN_TYPE_GUID},
    {.name = "w", .type = SN_TYPE_FILETIME},
    {.name = "m", .type = SN_TYPE_DECIMAL},
};
static const struct sn_schema schema = {.provider = "P",
                                        .name = "N",
                                        .has_layout = true,
                                        .field_count = sizeof(fields) / sizeof(fields[0]),
                                        .fields = fields};

static struct sn_event_filter *read_condition(const char *text)
{
    struct sn_event_filter *filter = NULL;
    struct sonde_error err = {0};
    if (sn_event_filter_new(text, &filter, &err) == SONDE_OK)
        return filter;
    if (err.status != SONDE_E_ARGUMENT || err.offset > strlen(text) || !err.text[0] || filter)
        abort();
    return NULL;
}

/* NULL also when it would be too long or too deep with a "!" before it. */
static struct sn_event_filter *read_negation(const char *text)
{
    size_t room = strlen(text) + 4;
    SN_AUTO(sn_free) char *negation = malloc(room);
    if (!negation)
        return NULL;
    (void)snprintf(negation, room, "!(%s)", text);
    return read_condition(negation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SN_AUTO(sn_free) char *text = strndup((const char *)data, size);
    if (!text)
        return 0;
    struct sn_event_filter *filter = read_condition(text);
    struct sn_event_filter *negation = filter ? read_negation(text) : NULL;
    size_t used = strlen(text) + 1 < size ? strlen(text) + 1 : size;
    struct sn_event event = {.schema = &schema,
                             .pointer_size = 8,
                             .payload = data + used,
                             .payload_size = (uint32_t)(size - used)};
    if (negation &&
        sn_event_filter_holds(filter, &event) == sn_event_filter_holds(negation, &event))
        abort();
    sn_event_filter_free(filter);
    sn_event_filter_free(negation);
    return 0;
}
