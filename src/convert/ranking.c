#include "convert/ranking.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/pattern.h"
#include "base/table.h"
#include "base/text.h"
#include "convert/sites.h"
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

struct group {
    const struct sn_frame *frame; /* the first of them */
    const char *name;             /* of a module or namespace; else the frame's */
};

struct groups {
    uint32_t *of;       /* owns; frame to group */
    struct group *list; /* owns */
    uint32_t count;
};

static void groups_done_auto(struct groups *groups)
{
    free(groups->of);
    free(groups->list);
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
    const struct sn_frame *a = ((const struct group *)left)->frame;
    const struct sn_frame *b = ((const struct group *)right)->frame;
    int order = group_order(a, b);
    return order ? order : (a > b) - (a < b);
}

static bool groups_find(struct groups *groups, const struct sn_profile *profile)
{
    size_t count = profile->frame_count;
    groups->of = calloc(count + 1, sizeof(*groups->of));
    groups->list = calloc(count + 1, sizeof(*groups->list));
    if (!groups->of || !groups->list)
        return false;
    struct group *list = groups->list; /* of frames at first; each group's first stays */
    for (size_t i = 0; i < count; i++)
        list[i].frame = &profile->frames[i];
    qsort(list, count, sizeof(*list), by_group_order);
    for (size_t i = 0; i < count; i++) {
        const struct sn_frame *frame = list[i].frame;
        if (i == 0 || group_order(list[groups->count - 1].frame, frame) != 0)
            list[groups->count++].frame = frame;
        groups->of[frame - profile->frames] = groups->count - 1;
    }
    return true;
}

/* Where what a node spent itself is counted. What was allocated or thrown is no method: the method
 * above it did that. */
static uint32_t spender(const struct sn_profile *profile, uint32_t node)
{
    uint32_t frame = profile->nodes[node].frame;
    uint32_t parent = profile->nodes[node].parent;
    return profile->frames[frame].kind == SN_FRAME_TYPE && parent ? parent : node;
}

static bool is_type(const struct sn_profile *profile, uint32_t node)
{
    return spender(profile, node) != node;
}

/* One entry a group; recursion, also through another of the same name, counts once. */
static struct sn_frame_sum *group_sums(const struct sn_profile *profile,
                                       const struct groups *groups, int column)
{
    SN_AUTO(sn_free) uint64_t *self = NULL;
    SN_AUTO(sn_free)
    uint64_t *totals = sn_profile_node_totals(profile, column, SN_NO_INDEX, &self);
    SN_AUTO(sn_free) bool *is_repeat = sn_profile_repeats(profile, groups->of);
    struct sn_frame_sum *sums =
        totals && is_repeat ? calloc(groups->count + 1, sizeof(*sums)) : NULL;
    for (uint32_t i = 1; sums && i < profile->node_count; i++) {
        uint32_t by = spender(profile, i);
        sums[groups->of[profile->nodes[by].frame]].self += self[i];
        if (by == i && !is_repeat[i])
            sums[groups->of[profile->nodes[i].frame]].total += totals[i];
    }
    for (size_t i = 0; sums && i < profile->frame_count; i++) { /* a process is no method */
        if (profile->frames[i].kind == SN_FRAME_PROCESS)
            sums[groups->of[i]].total = sums[groups->of[i]].self;
    }
    return sums;
}

static void rank_sums(struct sn_ranking *ranking, const struct groups *groups,
                      const struct sn_frame_sum *sums)
{
    ranking->items = calloc(groups->count + 1, sizeof(*ranking->items));
    for (size_t i = 0; ranking->items && i < groups->count; i++) {
        const struct sn_frame *frame = groups->list[i].frame;
        ranking->items[ranking->count++] = (struct sn_ranked){
            .name = frame->name, .frame = frame, .self = sums[i].self, .total = sums[i].total};
    }
}

/* --- methods --- */

typedef void change_fn(struct sn_frame_sum *sums, const struct groups *groups,
                       const struct sn_profile *profile, int column);

/* `change`: of the sums before they are ranked; may be NULL. */
static void rank_methods(struct sn_ranking *ranking, const struct sn_profile *profile, int column,
                         int (*order)(const void *, const void *), change_fn *change)
{
    *ranking = (struct sn_ranking){.whole = sn_profile_total(profile, column, SN_NO_INDEX)};
    SN_AUTO(groups_done) struct groups groups = {0};
    if (!groups_find(&groups, profile))
        return;
    SN_AUTO(sn_free) struct sn_frame_sum *sums = group_sums(profile, &groups, column);
    if (!sums)
        return;
    if (change)
        change(sums, &groups, profile, column);
    rank_sums(ranking, &groups, sums);
    put_in_order(ranking, order);
}

void sn_ranking_methods(struct sn_ranking *ranking, const struct sn_profile *profile, int column)
{
    rank_methods(ranking, profile, column, by_self, NULL);
}

/* Moves what a node has itself to the code that waits there. */
static void move_to_sites(struct sn_frame_sum *sums, const struct groups *groups,
                          const struct sn_profile *profile, int column)
{
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    sn_sites_find_all(&sites, profile, column);
    for (size_t i = 0; sites.choices && i < profile->row_count; i++) {
        const struct sn_row *row = &profile->rows[i];
        const struct sn_frame *frame = sn_sites_frame(&sites, profile, row->node);
        if (!frame)
            continue;
        uint64_t value = row->values[column];
        sums[groups->of[profile->nodes[spender(profile, row->node)].frame]].self -= value;
        sums[groups->of[frame - profile->frames]].self += value;
    }
}

void sn_ranking_waits(struct sn_ranking *ranking, const struct sn_profile *profile, int column)
{
    rank_methods(ranking, profile, column, by_self, move_to_sites);
}

void sn_ranking_inclusive(struct sn_ranking *ranking, const struct sn_profile *profile, int column)
{
    rank_methods(ranking, profile, column, by_total, NULL);
}

/* --- the method to name first --- */

#define NEARLY_ALL 80u  /* percent */
#define STEP_MAX   256u /* callers passed by */

/* What of a column lies at or below a method, seen from the methods in it. */
struct descent {
    const struct sn_profile *profile;
    struct groups groups;
    uint64_t *totals;    /* one a node */
    bool *is_repeat;     /* one a node */
    bool *is_below;      /* one a node: the present method is above it */
    bool *is_passed;     /* one a group */
    uint64_t *of_groups; /* one a group */
};

static void descent_done_auto(struct descent *descent)
{
    groups_done_auto(&descent->groups);
    free(descent->totals);
    free(descent->is_repeat);
    free(descent->is_below);
    free(descent->is_passed);
    free(descent->of_groups);
}

static bool descent_init(struct descent *descent, const struct sn_profile *profile, int column)
{
    uint64_t *self = NULL;
    descent->profile = profile;
    if (!groups_find(&descent->groups, profile))
        return false;
    descent->totals = sn_profile_node_totals(profile, column, SN_NO_INDEX, &self);
    free(self);
    descent->is_repeat = sn_profile_repeats(profile, descent->groups.of);
    descent->is_below = calloc(profile->node_count + 1, sizeof(*descent->is_below));
    descent->is_passed = calloc(profile->frame_count + 1, sizeof(*descent->is_passed));
    descent->of_groups = calloc(profile->frame_count + 1, sizeof(*descent->of_groups));
    return descent->totals && descent->is_repeat && descent->is_below && descent->is_passed &&
           descent->of_groups;
}

static bool is_own(const struct sn_frame *frame)
{
    return frame->kind == SN_FRAME_MANAGED && !frame->is_framework;
}

/* Sums what own methods hold below `above` (SN_NO_INDEX: anywhere); the largest, or SN_NO_INDEX. */
static uint32_t largest_below(struct descent *descent, uint32_t above)
{
    const struct sn_profile *profile = descent->profile;
    uint32_t largest = SN_NO_INDEX;
    memset(descent->of_groups, 0, descent->groups.count * sizeof(*descent->of_groups));
    descent->is_below[0] = above == SN_NO_INDEX;
    for (uint32_t i = 1; i < profile->node_count; i++) {
        uint32_t group = descent->groups.of[profile->nodes[i].frame];
        bool is_inside = descent->is_below[profile->nodes[i].parent];
        descent->is_below[i] = is_inside || group == above;
        if (!is_inside || descent->is_repeat[i] || descent->is_passed[group] ||
            !is_own(&profile->frames[profile->nodes[i].frame]))
            continue;
        descent->of_groups[group] += descent->totals[i];
        if (largest == SN_NO_INDEX || descent->of_groups[group] > descent->of_groups[largest])
            largest = group;
    }
    return largest;
}

bool sn_ranking_own(struct sn_ranked *ret_method, const struct sn_profile *profile, int column)
{
    SN_AUTO(descent_done) struct descent descent = {0};
    if (!descent_init(&descent, profile, column))
        return false;
    uint32_t found = largest_below(&descent, SN_NO_INDEX);
    for (unsigned i = 0; found != SN_NO_INDEX && i < STEP_MAX; i++) {
        uint64_t total = descent.of_groups[found];
        descent.is_passed[found] = true;
        uint32_t next = largest_below(&descent, found);
        if (next == SN_NO_INDEX || descent.of_groups[next] < total / 100 * NEARLY_ALL)
            break;
        found = next;
    }
    SN_AUTO(sn_free)
    struct sn_frame_sum *sums =
        found == SN_NO_INDEX ? NULL : group_sums(profile, &descent.groups, column);
    if (!sums || !sums[found].total)
        return false;
    const struct sn_frame *frame = descent.groups.list[found].frame;
    *ret_method = (struct sn_ranked){
        .name = frame->name, .frame = frame, .self = sums[found].self, .total = sums[found].total};
    return true;
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

/* What has neither, the runtime's own work, stands for itself. */
static const char *family_of(const struct sn_frame *frame,
                             const char *(*name_of)(const struct sn_frame *))
{
    const char *name = name_of(frame);
    if (frame->kind == SN_FRAME_PROCESS) /* what it has itself had no stack */
        return "[no stack]";
    return name[0] || frame->kind == SN_FRAME_MANAGED ? name : frame->name;
}

/* Groups by what `name_of` says: a stack that passes through a module twice counts once for it. */
static bool families_find(struct groups *groups, const struct sn_profile *profile,
                          const char *(*name_of)(const struct sn_frame *))
{
    size_t count = profile->frame_count;
    struct sn_table by_name = sn_table_with_limit(count + 1);
    groups->of = calloc(count + 1, sizeof(*groups->of));
    groups->list = calloc(count + 1, sizeof(*groups->list));
    bool is_good = groups->of && groups->list;
    for (size_t i = 0; is_good && i < count; i++) {
        const char *name = family_of(&profile->frames[i], name_of);
        uint64_t hash = sn_text_hash(0, name);
        uint64_t *place = sn_table_put(&by_name, hash);
        while (place && *place && text_order(groups->list[*place - 1].name, name) != 0)
            place = sn_table_put(&by_name, ++hash);
        is_good = place != NULL;
        if (place && !*place) {
            groups->list[groups->count] =
                (struct group){.frame = &profile->frames[i], .name = name};
            *place = ++groups->count;
        }
        if (place)
            groups->of[i] = (uint32_t)(*place - 1);
    }
    sn_table_done(&by_name);
    return is_good;
}

static void rank_families(struct sn_ranking *ranking, const struct sn_profile *profile, int column,
                          const char *(*name_of)(const struct sn_frame *))
{
    *ranking = (struct sn_ranking){.whole = sn_profile_total(profile, column, SN_NO_INDEX)};
    SN_AUTO(groups_done) struct groups groups = {0};
    if (!families_find(&groups, profile, name_of))
        return;
    SN_AUTO(sn_free) struct sn_frame_sum *sums = group_sums(profile, &groups, column);
    if (!sums)
        return;
    rank_sums(ranking, &groups, sums);
    for (size_t i = 0; i < ranking->count; i++) {
        ranking->items[i].name = groups.list[i].name;
        ranking->items[i].frame = NULL;
    }
    put_in_order(ranking, by_total); /* and leaves out what is worth nothing */
    if (ranking->count)
        qsort(ranking->items, ranking->count, sizeof(*ranking->items), by_self);
}

void sn_ranking_modules(struct sn_ranking *ranking, const struct sn_profile *profile, int column)
{
    rank_families(ranking, profile, column, module_of);
}

void sn_ranking_namespaces(struct sn_ranking *ranking, const struct sn_profile *profile, int column)
{
    rank_families(ranking, profile, column, name_space_of);
}

/* --- callers and callees --- */

struct search {
    const struct sn_profile *profile;
    struct groups groups;
    bool *is_match;               /* one a frame */
    uint64_t *totals;             /* one a node */
    uint64_t *self;               /* one a node */
    struct sn_frame_sum *callers; /* one a group */
    struct sn_frame_sum *callees;
    uint32_t *callee_depth; /* one a group: so many of it, called by a match, lie above */
    uint32_t match_depth;   /* so many matches lie above */
    struct sn_neighbours *found;
};

static void search_done_auto(struct search *search)
{
    groups_done_auto(&search->groups);
    free(search->is_match);
    free(search->totals);
    free(search->self);
    free(search->callers);
    free(search->callees);
    free(search->callee_depth);
}

static bool search_init(struct search *search, const struct sn_profile *profile, int column,
                        const char *pattern)
{
    size_t count = profile->frame_count + 1;
    search->profile = profile;
    search->is_match = calloc(count, sizeof(*search->is_match));
    search->totals = sn_profile_node_totals(profile, column, SN_NO_INDEX, &search->self);
    search->callers = calloc(count, sizeof(*search->callers));
    search->callees = calloc(count, sizeof(*search->callees));
    search->callee_depth = calloc(count, sizeof(*search->callee_depth));
    if (!search->is_match || !search->totals || !search->callers || !search->callees ||
        !search->callee_depth || !groups_find(&search->groups, profile))
        return false;
    for (size_t i = 0; i < profile->frame_count; i++)
        search->is_match[i] = profile->frames[i].kind != SN_FRAME_TYPE &&
                              (sn_pattern_matches(pattern, profile->frames[i].name) ||
                               sn_pattern_matches(pattern, profile->frames[i].full_name));
    return true;
}

static bool is_matched(const struct search *search, uint32_t node)
{
    return node && search->is_match[search->profile->nodes[node].frame];
}

static uint32_t group_at(const struct search *search, uint32_t node)
{
    return search->groups.of[search->profile->nodes[node].frame];
}

/* Called by a match and none itself. */
static bool is_callee(const struct search *search, uint32_t node)
{
    return !is_matched(search, node) && is_matched(search, search->profile->nodes[node].parent) &&
           !is_type(search->profile, node);
}

/* What comes through a caller, and goes into a callee, counts once however deep they recur. */
static void enter_node(void *user, uint32_t node)
{
    struct search *search = user;
    if (is_matched(search, spender(search->profile, node)))
        search->found->self += search->self[node];
    if (is_matched(search, node)) {
        uint32_t caller = search->profile->nodes[node].parent;
        if (search->match_depth++ > 0)
            return;
        search->found->total += search->totals[node];
        if (caller)
            search->callers[group_at(search, caller)].total += search->totals[node];
    } else if (is_callee(search, node)) {
        struct sn_frame_sum *callee = &search->callees[group_at(search, node)];
        callee->self += search->self[node];
        if (search->callee_depth[group_at(search, node)]++ == 0)
            callee->total += search->totals[node];
    }
}

static void leave_node(void *user, uint32_t node)
{
    struct search *search = user;
    if (is_matched(search, node))
        search->match_depth--;
    else if (is_callee(search, node))
        search->callee_depth[group_at(search, node)]--;
}

/* The matching methods themselves, each with its own sums. */
static void rank_matched(struct sn_ranking *matched, const struct search *search, int column)
{
    SN_AUTO(sn_free)
    struct sn_frame_sum *sums = group_sums(search->profile, &search->groups, column);
    if (!sums)
        return;
    rank_sums(matched, &search->groups, sums); /* in the order of the groups */
    SN_AUTO(sn_free) bool *is_in = calloc(search->groups.count + 1, sizeof(*is_in));
    for (size_t i = 0; is_in && i < search->profile->frame_count; i++)
        is_in[search->groups.of[i]] |= search->is_match[i];
    size_t kept = 0;
    for (size_t i = 0; is_in && i < matched->count; i++) {
        if (is_in[i])
            matched->items[kept++] = matched->items[i];
    }
    matched->count = kept;
}

void sn_neighbours_find(struct sn_neighbours *neighbours, const struct sn_profile *profile,
                        int column, const char *pattern)
{
    static const struct sn_visitor visitor = {.enter = enter_node, .leave = leave_node};
    *neighbours = (struct sn_neighbours){0};
    SN_AUTO(search_done) struct search search = {.found = neighbours};
    if (!search_init(&search, profile, column, pattern) ||
        !sn_profile_walk(profile, &visitor, &search))
        return;
    rank_matched(&neighbours->matched, &search, column);
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
