#include "convert/html_prune.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "model/profile.h"

#define NODES_MAX  200000u
#define ROWS_MAX   600000u
#define PRUNE_PART 10000u /* a node with less than one in so many goes; if need be, of fewer */

bool sn_html_is_too_large(const struct sn_profile *profile)
{
    return profile->node_count > NODES_MAX || profile->row_count > ROWS_MAX;
}

/* Marks the nodes that have one in `part` of any column. */
static bool mark_kept(const struct sn_profile *profile, uint64_t part, bool *kept)
{
    memset(kept, 0, profile->node_count * sizeof(*kept));
    for (size_t column = 0; column < profile->column_count; column++) {
        SN_AUTO(sn_free)
        uint64_t *totals = sn_profile_node_totals(profile, (int)column, SN_NO_INDEX, NULL);
        if (!totals)
            return false;
        for (size_t i = 0; i < profile->node_count; i++)
            kept[i] |= totals[i] && totals[i] >= totals[0] / part;
    }
    kept[0] = true;
    return true;
}

static bool fits(const struct sn_profile *profile, const bool *kept)
{
    size_t node_count = 0;
    size_t row_count = 0;
    for (size_t i = 0; i < profile->node_count; i++)
        node_count += kept[i];
    for (size_t i = 0; i < profile->row_count; i++)
        row_count += kept[profile->rows[i].node];
    return node_count <= NODES_MAX && row_count <= ROWS_MAX;
}

/* Ever fewer, until the page can hold them. */
static bool choose_kept(const struct sn_profile *profile, bool *kept)
{
    for (uint64_t part = PRUNE_PART; part; part /= 2) {
        if (!mark_kept(profile, part, kept))
            return false;
        if (fits(profile, kept))
            break;
    }
    return true;
}

/* `places`: where each node of the profile is in the pruned one. What is dropped goes to a child of
 * the nearest node that is kept; below a dropped node everything is dropped. */
static bool copy_nodes(const struct sn_profile *profile, const bool *kept,
                       struct sn_profile *pruned, uint32_t *places)
{
    static const struct sn_frame small = {.name = "[small stacks]",
                                          .full_name = "[small stacks]",
                                          .module = "",
                                          .name_space = "",
                                          .kind = SN_FRAME_RUNTIME};
    SN_AUTO(sn_free) uint32_t *frames = calloc(profile->frame_count + 1, sizeof(*frames));
    if (!frames)
        return false;
    uint32_t small_frame = sn_profile_frame(pruned, &small);
    for (size_t i = 1; i < profile->node_count; i++) {
        const struct sn_node *node = &profile->nodes[i];
        uint32_t *known = &frames[node->frame]; /* + 1: each is looked up once */
        places[i] = places[node->parent];
        if (kept[i] && !*known)
            *known = sn_profile_frame(pruned, &profile->frames[node->frame]) + 1;
        if (kept[node->parent])
            places[i] = sn_profile_node(pruned, places[i], kept[i] ? *known - 1 : small_frame);
    }
    return true;
}

static void copy_rows(const struct sn_profile *profile, struct sn_profile *pruned,
                      const uint32_t *places)
{
    for (size_t i = 0; i < profile->thread_count;
         i++) { /* in the same order, so of the same index */
        const struct sn_profile_thread *thread = &profile->threads[i];
        (void)sn_profile_thread(pruned, thread->pid, thread->thread_id, thread->name);
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct sn_row *row = &profile->rows[i];
        sn_profile_add(pruned, row->thread, places[row->node], row->values);
    }
}

int sn_html_prune(const struct sn_profile *profile, struct sn_profile **ret_pruned,
                  struct sonde_error *err)
{
    SN_AUTO(sn_profile_free) struct sn_profile *pruned = NULL;
    SN_AUTO(sn_free) bool *kept = calloc(profile->node_count, sizeof(*kept));
    SN_AUTO(sn_free) uint32_t *places = calloc(profile->node_count, sizeof(*places));
    int rc = sn_profile_new(profile->columns, profile->column_count, &pruned, err);
    if (rc != SONDE_OK)
        return rc;
    if (!kept || !places || !choose_kept(profile, kept) ||
        !copy_nodes(profile, kept, pruned, places))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a page");
    copy_rows(profile, pruned, places);
    if (pruned->dropped_count)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a page");
    *ret_pruned = SN_TAKE(pruned);
    return SONDE_OK;
}
