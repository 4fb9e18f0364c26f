/* Looks runtime events, providers and keywords up in the generated table. */
#include "clr/runtime_events.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "clr/runtime_events_table.h"
#include "model/schema.h"

static bool is_at_or_before(const struct sn_clr_event *event, enum sn_clr_provider provider,
                            uint32_t id, uint32_t version)
{
    if (event->provider != provider)
        return event->provider < provider;
    if (event->id != id)
        return event->id < id;
    return event->version <= version;
}

int sn_clr_provider_find(const char *name, size_t size)
{
    for (int i = 0; i < SN_CLR_PROVIDER_COUNT; i++) {
        const char *known = sn_clr_provider_names[i];
        if (strlen(known) == size && memcmp(known, name, size) == 0)
            return i;
    }
    return -1;
}

const char *sn_clr_provider_name(enum sn_clr_provider provider)
{
    assert(provider < SN_CLR_PROVIDER_COUNT);
    return sn_clr_provider_names[provider];
}

const struct sn_clr_event *sn_clr_event_find(enum sn_clr_provider provider, uint32_t id,
                                             uint32_t version)
{
    unsigned low = 0;
    unsigned high = sn_clr_event_count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (is_at_or_before(&sn_clr_events[middle], provider, id, version))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const struct sn_clr_event *event = &sn_clr_events[low - 1];
    return event->provider == provider && event->id == id ? event : NULL;
}

bool sn_clr_describe(struct sn_schema *schema)
{
    int provider = sn_clr_provider_find(schema->provider, strlen(schema->provider));
    const struct sn_clr_event *event =
        provider < 0
            ? NULL
            : sn_clr_event_find((enum sn_clr_provider)provider, schema->event_id, schema->version);
    if (!event)
        return false;
    schema->name = event->name;
    schema->opcode = event->opcode;
    schema->fields = event->fields;
    schema->field_count = event->field_count;
    schema->has_layout = true;
    return true;
}

int sn_clr_keyword_find(const char *name, size_t size, uint64_t *ret_bit)
{
    for (unsigned i = 0; i < sn_clr_keyword_count; i++) {
        const struct sn_clr_keyword *known = &sn_clr_keywords[i];
        if (strlen(known->name) == size && strncasecmp(known->name, name, size) == 0) {
            *ret_bit = known->bit;
            return 0;
        }
    }
    return -1;
}
