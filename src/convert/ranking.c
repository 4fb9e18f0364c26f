#include "convert/ranking.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/pattern.h"
#include "model/profile.h"

void sn_ranking_done(struct sn_ranking *ranking)
{
    free(ranking->items);
    *ranking = (struct sn_ranking){0};
}

/* --- order: largest first; equal ones by name, so that the same trace gives the same list --- */

static int by_name(const struct sn_ranked *a, const struct sn_ranked *b)
{
    int order = strcmp(a->name, b->name);
    return order || !a->frame || !b->frame ? order
                                           : strcmp(a->frame->full_name, b->frame->full_name);
}

static int by_self(const void *left, const void *right)
{
    const struct sn_ranked *a = left;
    const struct sn_ranked *b = right;
    if (a->self != b->self)
        return a->self < b->self ? 1 : -1;
    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    return by_name(a, b);
}

static int by_total(const void *left, const void *right)
{
    const struct sn_ranked *a = left;
    const struct sn_ranked *b = right;
    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    return by_name(a, b);
}

static void put_in_order(struct sn_ranking *ranking, int (*order)(const void *, const void *))
{
    size_t kept = 0;
    for (size_t i = 0; i < ranking->count; i++) {
        const struct sn_ranked *item = &ranking->items[i];
        if (order == by_self ? item->self : item->total)
            ranking->items[kept++] = *item;
    }
    ranking->count = kept;
    if (kept)
        qsort(ranking->items, kept, sizeof(*ranking->items), order);
}

/* --- groups: what goes by one name is one method to a reader: an async method and its body, the
 * overloads of a name --- */

struct groups {
    uint32_t *of;                  /* owns; frame to group */
    const struct sn_frame **first; /* owns; group to its first frame */
    uint32_t count;
};

static void groups_done_auto(struct groups *groups)
{
    free(groups->of);
    free(groups->first);
}

static int text_order(const char *left, const char *right)
{
    return strcmp(left ? left : "", right ? right : "");
}

static int group_order(const struct sn_frame *a, const struct sn_frame *b)
{
    int order = strcmp(a->name, b->name);
    order = order ? order : strcmp(a->module, b->module);
    order = order ? order : (a->kind > b->kind) - (a->kind < b->kind);
    order = order ? order : text_order(a->file, b->file);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int by_group_order(const void *left, const void *right)
{
    const struct sn_frame *a = *(const struct sn_frame *const *)left;
    const struct sn_frame *b = *(const struct sn_frame *const *)right;
    int order = group_order(a, b);
    return order ? order : (a > b) - (a < b);
}

static bool groups_find(struct groups *groups, const struct sn_profile *profile)
{
    size_t count = profile->frame_count;
    const struct sn_frame **sorted = calloc(count + 1, sizeof(*sorted));
    groups->of = calloc(count + 1, sizeof(*groups->of));
    groups->first = calloc(count + 1, sizeof(*groups->first));
    if (!sorted || !groups->of || !groups->first) {
        free(sorted);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = &profile->frames[i];
    qsort(sorted, count, sizeof(*sorted), by_group_order);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || group_order(sorted[i - 1], sorted[i]) != 0)
            groups->first[groups->count++] = sorted[i];
        groups->of[sorted[i] - profile->frames] = groups->count - 1;
    }
    free(sorted);
    return true;
}

static bool has_ancestor_in(const struct sn_profile *profile, const struct groups *groups,
                            uint32_t node, uint32_t group)
{
    for (node = profile->nodes[node].parent; node; node = profile->nodes[node].parent) {
        if (groups->of[profile->nodes[node].frame] == group)
            return true;
    }
    return false;
}

/* One entry a group; recursion, also through another of the same name, counts once. */
static struct sn_frame_sum *group_sums(const struct sn_profile *profile,
                                       const struct groups *groups, int column)
{
    uint64_t *self = NULL;
    SN_AUTO(sn_free)
    uint64_t *totals = sn_profile_node_totals(profile, column, SN_NO_INDEX, &self);
    SN_AUTO(sn_free) uint64_t *owned = self;
    struct sn_frame_sum *sums = totals ? calloc(groups->count + 1, sizeof(*sums)) : NULL;
    for (uint32_t i = 1; sums && i < profile->node_count; i++) {
        uint32_t group = groups->of[profile->nodes[i].frame];
        sums[group].self += self[i];
        if (totals[i] && !has_ancestor_in(profile, groups, i, group))
            sums[group].total += totals[i];
    }
    return sums;
}

static void rank_sums(struct sn_ranking *ranking, const struct groups *groups,
                      const struct sn_frame_sum *sums)
{
    ranking->items = calloc(groups->count + 1, sizeof(*ranking->items));
    for (size_t i = 0; ranking->items && i < groups->count; i++)
        ranking->items[ranking->count++] = (struct sn_ranked){.name = groups->first[i]->name,
                                                              .frame = groups->first[i],
                                                              .self = sums[i].self,
                                                              .total = sums[i].total};
}

/* --- methods --- */

static void rank_methods(struct sn_ranking *ranking, const struct sn_profile *profile, int column,
                         int (*order)(const void *, const void *))
{
    *ranking = (struct sn_ranking){.whole = sn_profile_total(profile, column, SN_NO_INDEX)};
    SN_AUTO(groups_done) struct groups groups = {0};
    if (!groups_find(&groups, profile))
        return;
    SN_AUTO(sn_free) struct sn_frame_sum *sums = group_sums(profile, &groups, column);
    if (!sums)
        return;
    rank_sums(ranking, &groups, sums);
    put_in_order(ranking, order);
}

void sn_ranking_methods(struct sn_ranking *ranking, const struct sn_profile *profile, int column)
{
    rank_methods(ranking, profile, column, by_self);
}

void sn_ranking_inclusive(struct sn_ranking *ranking, const struct sn_profile *profile, int column)
{
    rank_methods(ranking, profile, column, by_total);
}

/* --- modules, namespaces --- */

static const char *module_of(const struct sn_frame *frame)
{
    return frame->module;
}

static const char *name_space_of(const struct sn_frame *frame)
{
    return frame->name_space;
}

static int by_group(const void *left, const void *right)
{
    return strcmp(((const struct sn_ranked *)left)->name, ((const struct sn_ranked *)right)->name);
}

/* Adds neighbours of one name together; the list is sorted by name. */
static void join_groups(struct sn_ranking *ranking)
{
    size_t kept = 0;
    for (size_t i = 0; i < ranking->count; i++) {
        struct sn_ranked *item = &ranking->items[i];
        if (kept && strcmp(ranking->items[kept - 1].name, item->name) == 0)
            ranking->items[kept - 1].self += item->self;
        else
            ranking->items[kept++] = *item;
    }
    ranking->count = kept;
    for (size_t i = 0; i < kept; i++)
        ranking->items[i].total = ranking->items[i].self;
}

static void rank_groups(struct sn_ranking *ranking, const struct sn_profile *profile, int column,
                        const char *(*group_of)(const struct sn_frame *))
{
    sn_ranking_methods(ranking, profile, column);
    for (size_t i = 0; i < ranking->count; i++) {
        struct sn_ranked *item = &ranking->items[i];
        const char *group = group_of(item->frame);
        item->name = group[0] ? group : item->frame->kind == SN_FRAME_MANAGED ? "" : item->name;
        item->frame = NULL;
    }
    if (ranking->count)
        qsort(ranking->items, ranking->count, sizeof(*ranking->items), by_group);
    join_groups(ranking);
    put_in_order(ranking, by_self);
}

void sn_ranking_modules(struct sn_ranking *ranking, const struct sn_profile *profile, int column)
{
    rank_groups(ranking, profile, column, module_of);
}

void sn_ranking_namespaces(struct sn_ranking *ranking, const struct sn_profile *profile, int column)
{
    rank_groups(ranking, profile, column, name_space_of);
}

/* --- callers and callees --- */

struct search {
    const struct sn_profile *profile;
    struct groups groups;
    bool *is_match;               /* one a frame */
    uint64_t *totals;             /* one a node */
    uint64_t *self;               /* one a node */
    struct sn_frame_sum *matched; /* one a group */
    struct sn_frame_sum *callers;
    struct sn_frame_sum *callees;
};

static void search_done_auto(struct search *search)
{
    groups_done_auto(&search->groups);
    free(search->is_match);
    free(search->totals);
    free(search->self);
    free(search->matched);
    free(search->callers);
    free(search->callees);
}

static bool search_init(struct search *search, const struct sn_profile *profile, int column,
                        const char *pattern)
{
    size_t count = profile->frame_count + 1;
    search->profile = profile;
    search->is_match = calloc(count, sizeof(*search->is_match));
    search->totals = sn_profile_node_totals(profile, column, SN_NO_INDEX, &search->self);
    search->matched = calloc(count, sizeof(*search->matched));
    search->callers = calloc(count, sizeof(*search->callers));
    search->callees = calloc(count, sizeof(*search->callees));
    if (!search->is_match || !search->totals || !search->matched || !search->callers ||
        !search->callees || !groups_find(&search->groups, profile))
        return false;
    for (size_t i = 0; i < profile->frame_count; i++)
        search->is_match[i] = sn_pattern_matches(pattern, profile->frames[i].name) ||
                              sn_pattern_matches(pattern, profile->frames[i].full_name);
    return true;
}

static bool is_matched(const struct search *search, uint32_t node)
{
    return node && search->is_match[search->profile->nodes[node].frame];
}

static bool has_matched_caller(const struct search *search, uint32_t node)
{
    for (node = search->profile->nodes[node].parent; node;
         node = search->profile->nodes[node].parent) {
        if (is_matched(search, node))
            return true;
    }
    return false;
}

/* One node of a matched method: once for its own sums, once for who called it, unless it is called
 * by a matched one itself. */
static void take_matched(struct search *search, struct sn_neighbours *neighbours, uint32_t node)
{
    const struct sn_node *nodes = search->profile->nodes;
    struct sn_frame_sum *matched = &search->matched[search->groups.of[nodes[node].frame]];
    matched->self += search->self[node];
    neighbours->self += search->self[node];
    if (has_matched_caller(search, node))
        return;
    matched->total += search->totals[node];
    neighbours->total += search->totals[node];
    uint32_t caller = nodes[node].parent;
    if (caller)
        search->callers[search->groups.of[nodes[caller].frame]].total += search->totals[node];
}

void sn_neighbours_find(struct sn_neighbours *neighbours, const struct sn_profile *profile,
                        int column, const char *pattern)
{
    *neighbours = (struct sn_neighbours){0};
    SN_AUTO(search_done) struct search search = {0};
    if (!search_init(&search, profile, column, pattern))
        return;
    for (uint32_t node = 1; node < profile->node_count; node++) {
        uint32_t group = search.groups.of[profile->nodes[node].frame];
        if (is_matched(&search, node))
            take_matched(&search, neighbours, node);
        else if (is_matched(&search, profile->nodes[node].parent)) {
            search.callees[group].total += search.totals[node];
            search.callees[group].self += search.self[node];
        }
    }
    rank_sums(&neighbours->matched, &search.groups, search.matched);
    rank_sums(&neighbours->callers, &search.groups, search.callers);
    rank_sums(&neighbours->callees, &search.groups, search.callees);
    put_in_order(&neighbours->matched, by_total);
    put_in_order(&neighbours->callers, by_total);
    put_in_order(&neighbours->callees, by_total);
    uint64_t whole = sn_profile_total(profile, column, SN_NO_INDEX);
    neighbours->matched.whole = neighbours->callers.whole = neighbours->callees.whole = whole;
}

void sn_neighbours_done(struct sn_neighbours *neighbours)
{
    sn_ranking_done(&neighbours->matched);
    sn_ranking_done(&neighbours->callers);
    sn_ranking_done(&neighbours->callees);
}

const struct sn_frame *sn_own_frame(const struct sn_profile *profile, uint32_t node)
{
    for (; node; node = profile->nodes[node].parent) {
        const struct sn_frame *frame = &profile->frames[profile->nodes[node].frame];
        if (!frame->is_framework && frame->kind == SN_FRAME_MANAGED)
            return frame;
    }
    return NULL;
}
