#include "api/hub_ask.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/hub_arguments.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "sonde/provider.h"

static void free_item(struct sonde_provider *item)
{
    free((void *)item->name);
    free((void *)item->arguments);
    free((void *)item->ids);
}

void sn_ask_done(struct sn_ask *ask)
{
    for (size_t i = 0; i < ask->count; i++)
        free_item(&ask->items[i]);
    free(ask->items);
    *ask = (struct sn_ask){0};
}

void sn_ask_remove(struct sn_ask *ask, size_t index)
{
    free_item(&ask->items[index]);
    ask->count--;
    memmove(&ask->items[index], &ask->items[index + 1], (ask->count - index) * sizeof(*ask->items));
}

static struct sonde_provider *find(const struct sn_ask *ask, const char *name)
{
    for (size_t i = 0; i < ask->count; i++) {
        if (strcasecmp(ask->items[i].name, name) == 0)
            return &ask->items[i];
    }
    return NULL;
}

/* --- event ids: each side keeps some, or leaves some out --- */

static bool has_id(const struct sonde_provider *provider, uint32_t id)
{
    for (size_t i = 0; i < provider->id_count; i++) {
        if (provider->ids[i] == id)
            return true;
    }
    return false;
}

static bool lets_pass(const struct sonde_provider *provider, uint32_t id)
{
    return !provider->id_count || has_id(provider, id) != provider->ids_are_excluded;
}

/* Of those that `from` lists, the ones whose mention the joined list needs. */
static size_t take_ids(uint32_t *to, size_t count, const struct sonde_provider *from,
                       const struct sonde_provider *other, bool is_excluded)
{
    for (size_t i = 0; i < from->id_count; i++) {
        uint32_t id = from->ids[i];
        bool passes = lets_pass(from, id) || lets_pass(other, id);
        bool is_there = false;
        for (size_t k = 0; k < count; k++)
            is_there |= to[k] == id;
        if (passes != is_excluded && !is_there)
            to[count++] = id;
    }
    return count;
}

/* Keeps what either keeps. An empty list that leaves out nothing is every event. */
static bool join_ids(struct sonde_provider *to, const struct sonde_provider *other)
{
    bool is_all = !to->id_count || !other->id_count;
    size_t count = 0;
    bool is_excluded = to->ids_are_excluded || other->ids_are_excluded;
    uint32_t *ids = calloc(to->id_count + other->id_count + 1, sizeof(*ids));
    if (!ids)
        return false;
    if (!is_all) {
        count = take_ids(ids, 0, to, other, is_excluded);
        count = take_ids(ids, count, other, to, is_excluded);
    }
    free((void *)to->ids);
    to->ids = ids;
    to->id_count = count;
    to->ids_are_excluded = count && is_excluded;
    return true;
}

/* --- adding --- */

static int no_memory(struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for providers");
}

static int add_new(struct sn_ask *ask, const struct sonde_provider *provider,
                   struct sonde_error *err)
{
    struct sonde_provider *items =
        sn_array_room(ask->items, ask->count, &ask->capacity, sizeof(*items));
    if (!items)
        return no_memory(err);
    ask->items = items;
    struct sonde_provider *item = &items[ask->count];
    *item = *provider;
    uint32_t *ids = calloc(provider->id_count + 1, sizeof(*ids));
    item->name = strdup(provider->name);
    item->arguments = provider->arguments ? strdup(provider->arguments) : NULL;
    item->ids = ids;
    if (!item->name || !ids || (provider->arguments && !item->arguments)) {
        free_item(item);
        return no_memory(err);
    }
    for (size_t i = 0; i < provider->id_count; i++)
        ids[i] = provider->ids[i];
    ask->count++;
    return SONDE_OK;
}

int sn_ask_add(struct sn_ask *ask, const struct sonde_provider *provider, struct sonde_error *err)
{
    struct sonde_provider *item = find(ask, provider->name);
    if (!item)
        return add_new(ask, provider, err);
    SN_AUTO(sn_buf_done) struct sn_buf joined = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    int rc = sn_arguments_join(item->name, item->arguments, provider->arguments, &joined, err);
    if (rc != SONDE_OK)
        return rc;
    char *arguments = joined.size ? strdup(sn_buf_string(&joined)) : NULL;
    if ((joined.size && !arguments) || !join_ids(item, provider)) {
        free(arguments);
        return no_memory(err);
    }
    free((void *)item->arguments);
    item->arguments = arguments;
    item->keywords |= provider->keywords;
    if (provider->level > item->level)
        item->level = provider->level;
    return SONDE_OK;
}

int sn_ask_join(struct sn_ask *ask, const struct sn_ask *other, struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (size_t i = 0; rc == SONDE_OK && i < other->count; i++)
        rc = sn_ask_add(ask, &other->items[i], err);
    ask->stacks |= other->stacks;
    return rc;
}

/* --- comparing --- */

static bool same_ids(const struct sonde_provider *left, const struct sonde_provider *right)
{
    if (left->id_count != right->id_count || left->ids_are_excluded != right->ids_are_excluded)
        return false;
    for (size_t i = 0; i < left->id_count; i++) {
        if (!has_id(right, left->ids[i]))
            return false;
    }
    return true;
}

static bool same_item(const struct sonde_provider *left, const struct sonde_provider *right)
{
    const char *ours = left->arguments ? left->arguments : "";
    const char *theirs = right->arguments ? right->arguments : "";
    return left->keywords == right->keywords && left->level == right->level &&
           strcmp(ours, theirs) == 0 && same_ids(left, right);
}

bool sn_ask_equals(const struct sn_ask *left, const struct sn_ask *right)
{
    if (left->count != right->count || left->stacks != right->stacks)
        return false;
    for (size_t i = 0; i < left->count; i++) {
        const struct sonde_provider *same = find(right, left->items[i].name);
        if (!same || !same_item(&left->items[i], same))
            return false;
    }
    return true;
}

/* What is there already changes nothing when it is added. */
bool sn_ask_covers(const struct sn_ask *wide, const struct sn_ask *less)
{
    SN_AUTO(sn_ask_done) struct sn_ask both = {0};
    return sn_ask_join(&both, wide, NULL) == SONDE_OK &&
           sn_ask_join(&both, less, NULL) == SONDE_OK && sn_ask_equals(&both, wide);
}
