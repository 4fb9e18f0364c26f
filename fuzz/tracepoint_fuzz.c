/* Any bytes as a tracepoint's description: a status comes back, and what was understood lies in the
 * record and can be read by the model's own reader of payloads. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "format/tracepoint.h"
#include "model/event.h"
#include "model/payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_places(const struct sn_tracepoint *tracepoint, const uint8_t *record)
{
    for (uint16_t i = 0; i < tracepoint->schema.field_count; i++) {
        const struct sn_tracepoint_place *place = &tracepoint->places[i];
        int64_t value = 1;
        if (place->size &&
            (!sn_tracepoint_read(place, record, tracepoint->record_size, &value) || value))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SN_AUTO(sn_tracepoint_free) struct sn_tracepoint *tracepoint = NULL;
    struct sonde_error err = {0};
    SN_AUTO(sn_free) char *copy = malloc(size + 1);
    memcpy(copy, data, size);
    if (sn_tracepoint_parse("any", copy, size, &tracepoint, &err) != SONDE_OK) {
        if (!err.text[0])
            abort();
        return 0;
    }
    SN_AUTO(sn_free) uint8_t *record = calloc(1, (size_t)tracepoint->record_size + 1);
    struct sn_event event = {.schema = &tracepoint->schema,
                             .payload = record,
                             .payload_size = tracepoint->record_size,
                             .pointer_size = 8};
    struct sn_payload payload;
    struct sn_value value;
    int rc;
    check_places(tracepoint, record);
    if (sn_tracepoint_size(tracepoint, record, event.payload_size) > event.payload_size)
        abort();
    sn_payload_start(&payload, &event);
    while ((rc = sn_payload_next(&payload, &value)) == SONDE_OK)
        continue;
    if (rc != SONDE_END || sn_payload_left(&payload))
        abort();
    return 0;
}
