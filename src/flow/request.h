/* What a consumer asked for: which schemas it wants to see, and of which process. */
#ifndef SN_REQUEST_H
#define SN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_schema;

struct sn_request_item {
    const char *provider; /* NULL: any */
    const char *name;     /* of the event; NULL: any */
    uint64_t keywords;    /* any of these; an event without keywords always passes */
    uint8_t level;        /* at most this verbose; 0: any */
    bool any_case;        /* `name` in upper or lower case */
    bool is_exact;        /* no keywords and level 0 are none, as the runtime understands them */
    uint8_t lane;         /* of the schema; 0: any */
    bool ids_are_excluded;
    size_t id_count; /* 0: any */
    const uint32_t *ids;
};

/* Everything is borrowed and must outlive the subscription. No items: every event. */
struct sn_request {
    size_t item_count;
    const struct sn_request_item *items;
    uint32_t pid; /* events of this process only; 0: of any */
};

/* No items at all. */
extern const struct sn_request sn_everything;

bool sn_request_matches(const struct sn_request *request, const struct sn_schema *schema);

#endif
