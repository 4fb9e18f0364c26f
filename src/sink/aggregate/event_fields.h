/* Single fields of an event by name, for sinks that want a few of them. No state. */
#ifndef SN_EVENT_FIELDS_H
#define SN_EVENT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

struct sn_buf;
struct sn_event;
struct sn_value;

/* Longer texts are cut: nobody reads more, and a report keeps many. */
#define SN_EVENT_TEXT_MAX 1024u

/* A whole number or a truth value; false when there is no such field or it cannot be read. */
bool sn_event_find_number(const struct sn_event *event, const char *field, uint64_t *ret_number);

/* The same, and 0 for none. */
uint64_t sn_event_number(const struct sn_event *event, const char *field);
double sn_event_real(const struct sn_event *event, const char *field);

/* Appends a text as UTF-8, at most SN_EVENT_TEXT_MAX of its characters; false when there is none.
 */
bool sn_event_text(const struct sn_event *event, const char *field, struct sn_buf *to);

/* The same of a value that was walked to: SN_VALUE_TEXT16 or SN_VALUE_TEXT8. */
void sn_event_append_text(const struct sn_value *value, struct sn_buf *to);

/* A hash of bytes that goes on from `seed`; 0 to begin. */
uint64_t sn_event_hash(uint64_t seed, const void *bytes, uint64_t size);

#endif
