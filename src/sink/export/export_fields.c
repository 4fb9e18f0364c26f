#include "sink/export/export_fields.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/guid_text.h"
#include "base/json.h"

static void write_guid(struct sn_json *json, const char *key, const uint8_t *bytes)
{
    char text[SN_GUID_LENGTH + 1];
    sn_json_text(json, key, sn_guid_write(bytes, text));
}

static void write_hex(struct sn_json *json, const char *key, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char text[2 * 64 + 1]; /* the beginning says enough */
    size_t shown = size < 64 ? size : 64;
    for (size_t i = 0; i < shown; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * shown] = '\0';
    sn_json_text(json, key, text);
}

static void write_value(struct sn_json *json, const char *key, const struct sonde_value *value)
{
    char time[32];
    switch (value->type) {
    case SONDE_TYPE_BOOL: sn_json_bool(json, key, value->number != 0); break;
    case SONDE_TYPE_UINT: sn_json_u64(json, key, value->number); break;
    case SONDE_TYPE_INT: sn_json_i64(json, key, (int64_t)value->number); break;
    case SONDE_TYPE_REAL: sn_json_real(json, key, value->real); break;
    case SONDE_TYPE_TEXT: sn_json_bytes(json, key, value->text, value->size); break;
    case SONDE_TYPE_GUID: write_guid(json, key, value->bytes); break;
    case SONDE_TYPE_TIME: sn_json_text(json, key, sn_clock_rfc3339(value->number, time)); break;
    case SONDE_TYPE_BYTES: write_hex(json, key, value->bytes, value->size); break;
    default: sn_json_null(json, key); break;
    }
}

void sn_event_fields_json(struct sonde_event *event, struct sn_buf *to)
{
    struct sn_json json = sn_json_to(to);
    struct sonde_value value;
    sn_json_object(&json, NULL);
    sonde_event_rewind(event);
    while (sonde_event_next(event, &value) == SONDE_OK) {
        const char *key = json.is_array[json.depth - 1] ? NULL : value.name;
        if (value.type == SONDE_TYPE_CLOSE)
            sn_json_close(&json);
        else if (value.type != SONDE_TYPE_OPEN)
            write_value(&json, key, &value);
        else if (value.is_array)
            sn_json_array(&json, key);
        else
            sn_json_object(&json, key);
    }
    while (json.depth)
        sn_json_close(&json);
    sonde_event_rewind(event);
}
