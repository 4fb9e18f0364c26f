#include "model/schema_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/table.h"
#include "base/text.h"
#include "model/schema.h"

/* Ceilings: a runtime declares some hundreds. */
#define SCHEMA_LIMIT (1u << 16)
#define MEMORY_LIMIT (64u << 20)
#define SHARES       16u

struct sn_schema_set {
    struct sn_arena arena;
    size_t size;             /* taken of it */
    struct sn_table by_hash; /* hash, counted on where two meet -> pointer */
};

int sn_schema_set_new(struct sn_schema_set **ret_set, struct sonde_error *err)
{
    struct sn_schema_set *set = calloc(1, sizeof(*set));
    if (!set)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for kinds of events");
    set->arena = sn_arena_with_limit(MEMORY_LIMIT);
    set->by_hash = sn_table_with_limit(SCHEMA_LIMIT);
    *ret_set = set;
    return SONDE_OK;
}

void sn_schema_set_free(struct sn_schema_set *set)
{
    if (!set)
        return;
    sn_arena_done(&set->arena);
    sn_table_done(&set->by_hash);
    free(set);
}

/* Readers refuse fields that nest deeper than SN_FIELD_DEPTH_MAX, so these two end. */
static bool same_fields(const struct sn_field *left, const struct sn_field *right, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (left[i].type != right[i].type || left[i].count != right[i].count ||
            left[i].child_count != right[i].child_count || strcmp(left[i].name, right[i].name) != 0)
            return false;
        if (!same_fields(left[i].children, right[i].children, left[i].child_count))
            return false;
    }
    return true;
}

static void *take_room(struct sn_schema_set *set, size_t size)
{
    set->size += size;
    return sn_arena_alloc(&set->arena, size);
}

static const char *copy_text(struct sn_schema_set *set, const char *text)
{
    size_t size = strlen(text);
    set->size += size + 1;
    return sn_arena_copy(&set->arena, text, size);
}

static const struct sn_field *copy_fields(struct sn_schema_set *set, const struct sn_field *from,
                                          size_t count)
{
    struct sn_field *to = take_room(set, count * sizeof(*to));
    for (size_t i = 0; to && i < count; i++) {
        to[i] = from[i];
        to[i].name = copy_text(set, from[i].name);
        if (from[i].child_count)
            to[i].children = copy_fields(set, from[i].children, from[i].child_count);
        if (!to[i].name || (from[i].child_count && !to[i].children))
            return NULL;
    }
    return to;
}

static bool is_same(const struct sn_schema *left, const struct sn_schema *right)
{
    return left->event_id == right->event_id && left->version == right->version &&
           left->level == right->level && left->opcode == right->opcode &&
           left->lane == right->lane && left->keywords == right->keywords &&
           left->has_layout == right->has_layout &&
           left->layout_from_table == right->layout_from_table &&
           left->field_count == right->field_count && strcmp(left->name, right->name) == 0 &&
           strcmp(left->provider, right->provider) == 0 &&
           same_fields(left->fields, right->fields, left->field_count);
}

static struct sn_schema *copy_schema(struct sn_schema_set *set, const struct sn_schema *from)
{
    struct sn_schema *to = take_room(set, sizeof(*to));
    if (!to)
        return NULL;
    *to = *from;
    to->wanted = 0;
    to->index = (uint32_t)set->by_hash.count - 1;
    to->provider = copy_text(set, from->provider);
    to->name = copy_text(set, from->name);
    if (from->field_count)
        to->fields = copy_fields(set, from->fields, from->field_count);
    bool is_whole = to->provider && to->name && (!from->field_count || to->fields);
    return is_whole ? to : NULL;
}

static struct sn_schema *add_copy(struct sn_schema_set *set, struct sn_schema_share *share,
                                  const struct sn_schema *schema)
{
    size_t before = set->size;
    if (share->count == SCHEMA_LIMIT / SHARES || share->size >= MEMORY_LIMIT / SHARES)
        return NULL;
    struct sn_schema *copy = copy_schema(set, schema);
    share->size += set->size - before; /* what could not be made whole has taken room, too */
    share->count += copy != NULL;
    return copy;
}

struct sn_schema *sn_schema_set_add(struct sn_schema_set *set, struct sn_schema_share *share,
                                    const struct sn_schema *schema, bool *ret_is_new)
{
    uint64_t key = sn_text_hash(sn_text_hash(schema->event_id, schema->provider), schema->name);
    *ret_is_new = false;
    for (;; key++) {
        uint64_t *place = sn_table_put(&set->by_hash, key);
        if (!place)
            return NULL;
        struct sn_schema *known = (struct sn_schema *)(uintptr_t)*place;
        if (known && is_same(known, schema))
            return known;
        if (known)
            continue;
        struct sn_schema *copy = add_copy(set, share, schema);
        if (!copy)
            sn_table_remove(&set->by_hash, key);
        else
            *place = (uint64_t)(uintptr_t)copy;
        *ret_is_new = copy != NULL;
        return copy;
    }
}

size_t sn_schema_set_count(const struct sn_schema_set *set)
{
    return set->by_hash.count;
}
