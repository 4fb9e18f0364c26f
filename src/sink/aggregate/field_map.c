#include "sink/aggregate/field_map.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "model/event.h"
#include "model/payload.h"
#include "sonde/error.h"

/* No byte of a payload needs more as UTF-8, its text's zero included. */
#define TEXT_ROOM 4u

/* 100 ns from 1601 to 1970. */
#define UNIX_EPOCH_TICKS 116444736000000000ll
#define NS_PER_TICK      100ll

static const struct sn_field_rule *find_rule(const struct sn_field_rule *rules, size_t count,
                                             const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rules[i].name, name) == 0)
            return &rules[i];
    }
    return NULL;
}

static void append_valid(struct sn_buf *to, const char *text, size_t size)
{
    while (size) {
        uint32_t point;
        bool is_valid;
        size_t length = sn_text_decode(text, size, &point, &is_valid);
        if (is_valid)
            sn_buf_append(to, text, length);
        else
            sn_buf_text(to, "\xEF\xBF\xBD"); /* U+FFFD */
        text += length;
        size -= length;
    }
}

/* NULL when the payload names the same bytes as text so often that they do not fit. */
static const char *keep_text(struct sn_buf *texts, const struct sn_value *value)
{
    size_t at = texts->size;
    if (value->kind == SN_VALUE_TEXT16)
        sn_text_from_utf16(texts, value->bytes, value->size / 2u);
    else
        append_valid(texts, (const char *)value->bytes, value->size);
    sn_buf_u8(texts, 0);
    return texts->failed ? NULL : (const char *)texts->bytes + at;
}

static bool is_text(const struct sn_value *value)
{
    return value->kind == SN_VALUE_TEXT16 || value->kind == SN_VALUE_TEXT8;
}

static bool is_whole(const struct sn_value *value)
{
    return value->kind == SN_VALUE_INT || value->kind == SN_VALUE_UINT ||
           value->kind == SN_VALUE_BOOL;
}

static int64_t unix_ns(uint64_t ticks)
{
    int64_t since;
    if (ticks > INT64_MAX ||
        __builtin_mul_overflow((int64_t)ticks - UNIX_EPOCH_TICKS, NS_PER_TICK, &since))
        return 0;
    return since;
}

static double to_real(const struct sn_value *value)
{
    if (value->kind == SN_VALUE_FLOAT)
        return value->real;
    return value->kind == SN_VALUE_INT ? (double)(int64_t)value->number : (double)value->number;
}

static int put_text(const struct sn_field_rule *rule, const struct sn_value *value,
                    struct sn_buf *texts, uint8_t *to)
{
    const char *text = keep_text(texts, value);
    if (!text)
        return SONDE_E_FORMAT;
    double real = NAN;
    if (rule->form == SN_FIELD_TEXT) {
        memcpy(to, &text, sizeof(text));
    } else {
        (void)sn_text_to_real(text, strlen(text), &real);
        memcpy(to, &real, sizeof(real));
    }
    return SONDE_OK;
}

static int put(const struct sn_field_rule *rule, const struct sn_value *value, struct sn_buf *texts,
               void *record)
{
    uint8_t *to = (uint8_t *)record + rule->offset;
    bool wants_text = rule->form == SN_FIELD_TEXT || rule->form == SN_FIELD_NUMERAL;
    if (wants_text)
        return is_text(value) ? put_text(rule, value, texts, to) : SONDE_OK;
    if (rule->form == SN_FIELD_REAL && (is_whole(value) || value->kind == SN_VALUE_FLOAT)) {
        double real = to_real(value);
        memcpy(to, &real, sizeof(real));
    } else if (rule->form == SN_FIELD_WHOLE && is_whole(value)) {
        memcpy(to, &value->number, sizeof(value->number));
    } else if (rule->form == SN_FIELD_TIME && value->kind == SN_VALUE_TIME) {
        int64_t ns = unix_ns(value->number);
        memcpy(to, &ns, sizeof(ns));
    }
    return SONDE_OK;
}

int sn_field_map(const struct sn_event *event, const struct sn_field_rule *rules, size_t rule_count,
                 struct sn_buf *texts, void *to)
{
    struct sn_payload payload;
    struct sn_value value;
    int rc;
    size_t most = (size_t)event->payload_size * TEXT_ROOM + 1;
    sn_buf_clear(texts);
    uint8_t *memory = sn_buf_reserve(texts, most);
    if (!memory)
        return SONDE_E_NOMEM;
    struct sn_buf room = sn_buf_over(memory, most);
    sn_payload_start(&payload, event);
    while ((rc = sn_payload_next(&payload, &value)) == SONDE_OK) {
        const struct sn_field_rule *rule = find_rule(rules, rule_count, value.field->name);
        rc = rule ? put(rule, &value, &room, to) : SONDE_OK;
        if (rc != SONDE_OK)
            return rc;
    }
    return rc == SONDE_END ? SONDE_OK : SONDE_E_FORMAT;
}
