#include "sink/aggregate/event_fields.h"

#include "base/buf.h"
#include "base/text.h"
#include "model/event.h"
#include "model/payload.h"

bool sn_event_find_number(const struct sn_event *event, const char *field, uint64_t *ret_number)
{
    struct sn_value value;
    if (!sn_payload_find(event, field, &value))
        return false;
    if (value.kind != SN_VALUE_UINT && value.kind != SN_VALUE_INT && value.kind != SN_VALUE_BOOL)
        return false;
    *ret_number = value.number;
    return true;
}

uint64_t sn_event_number(const struct sn_event *event, const char *field)
{
    uint64_t number = 0;
    return sn_event_find_number(event, field, &number) ? number : 0;
}

double sn_event_real(const struct sn_event *event, const char *field)
{
    struct sn_value value;
    bool is_real = sn_payload_find(event, field, &value) && value.kind == SN_VALUE_FLOAT;
    return is_real ? value.real : 0;
}

void sn_event_append_text(const struct sn_value *value, struct sn_buf *to)
{
    size_t unit = value->kind == SN_VALUE_TEXT16 ? 2 : 1;
    size_t count = value->size / unit;
    if (count > SN_EVENT_TEXT_MAX)
        count = SN_EVENT_TEXT_MAX;
    if (unit == 2)
        sn_text_from_utf16(to, value->bytes, count);
    else
        sn_buf_append(to, value->bytes, count);
}

bool sn_event_text(const struct sn_event *event, const char *field, struct sn_buf *to)
{
    struct sn_value value;
    if (!sn_payload_find(event, field, &value))
        return false;
    if (value.kind != SN_VALUE_TEXT16 && value.kind != SN_VALUE_TEXT8)
        return false;
    sn_event_append_text(&value, to);
    return true;
}

uint64_t sn_event_hash(uint64_t seed, const void *bytes, uint64_t size)
{
    const uint8_t *at = bytes;
    uint64_t hash = (seed ^ 0xcbf29ce484222325u) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29; /* neighbours among the seeds must not meet neighbours among the bytes */
    for (uint64_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash ^ (hash >> 32);
}
