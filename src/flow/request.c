#include "flow/request.h"

#include <string.h>
#include <strings.h>

#include "model/schema.h"

const struct sn_request sn_everything = {0};

static bool has_id(const struct sn_request_item *item, uint32_t id)
{
    for (size_t i = 0; i < item->id_count; i++) {
        if (item->ids[i] == id)
            return true;
    }
    return false;
}

static bool item_matches(const struct sn_request_item *item, const struct sn_schema *schema)
{
    /* The runtime compares provider names without regard to case, and so do we. */
    if (item->provider && strcasecmp(item->provider, schema->provider) != 0)
        return false;
    int (*compare)(const char *, const char *) = item->any_case ? strcasecmp : strcmp;
    if (item->name && compare(item->name, schema->name) != 0)
        return false;
    if (item->lane && item->lane != schema->lane)
        return false;
    if ((item->level || item->is_exact) && schema->level > item->level)
        return false;
    bool has_keywords = item->keywords || item->is_exact;
    if (has_keywords && schema->keywords && !(item->keywords & schema->keywords))
        return false;
    return !item->id_count || has_id(item, schema->event_id) != item->ids_are_excluded;
}

bool sn_request_matches(const struct sn_request *request, const struct sn_schema *schema)
{
    for (size_t i = 0; i < request->item_count; i++) {
        if (item_matches(&request->items[i], schema))
            return true;
    }
    return request->item_count == 0;
}
