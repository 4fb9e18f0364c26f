/* Fields of an event by name into a struct, by a table, in one walk over the payload. No state. */
#ifndef SN_FIELD_MAP_H
#define SN_FIELD_MAP_H

#include <stddef.h>
#include <stdint.h>

struct sn_buf;
struct sn_event;

/* What a field becomes; one of another type than its rule expects is passed over. */
enum sn_field_form {
    SN_FIELD_TEXT,    /* const char *: UTF-8, ended by a zero, cut at a zero of its own */
    SN_FIELD_REAL,    /* double: of a floating point or whole number */
    SN_FIELD_WHOLE,   /* int64_t */
    SN_FIELD_NUMERAL, /* double: of text with a point; NAN when it is empty or not a number */
    SN_FIELD_TIME,    /* int64_t: nanoseconds since 1970, UTC */
};

struct sn_field_rule {
    const char *name;
    uint8_t form;  /* enum sn_field_form */
    size_t offset; /* in the struct */
};

/* Puts what the event has into `to`, which the caller set to the values for "not told". Fields of
 * objects within the event count as its own. Texts are put into `texts`, which is emptied first and
 * holds them until it is used again.
 *
 * SONDE_OK, also when the event has none of the fields; SONDE_E_FORMAT when its payload does not
 * hold what its schema says; SONDE_E_NOMEM. */
int sn_field_map(const struct sn_event *event, const struct sn_field_rule *rules, size_t rule_count,
                 struct sn_buf *texts, void *to);

#endif
