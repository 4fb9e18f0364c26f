/* What numbers and names in events mean to people. No state. */
#ifndef SN_EVENT_WORDS_H
#define SN_EVENT_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct sn_field;
struct sn_schema;

/* The word for a number of the runtime's own events; NULL: it is just a number. */
const char *sn_event_word(const struct sn_schema *schema, const char *field, uint64_t number);

/* Whether people read this field of the runtime's own events as an address or as bits. */
bool sn_event_is_address(const struct sn_schema *schema, const struct sn_field *field);

#endif
