/* The call tree of a report, as text and as JSON. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/report_show.h"
#include "convert/report_text.h"
#include "model/profile.h"

/* What is worth less than this part of all is left out. */
#define SMALLEST_SHARE 200u /* half a percent */
#define DEEPEST        120u
#define WIDEST         40u /* steps to the right */
#define ROW_MAX        8u  /* a longer row of calls in which nothing happens is folded, ... */
#define ROW_END        2u  /* ... but for this many at each end */

/* Children of each node, largest first: a linked list in arrays. */
struct tree {
    const struct sn_profile *profile;
    uint64_t *totals;
    uint64_t *self;
    uint32_t *first_child; /* SN_NO_INDEX: none */
    uint32_t *next_sibling;
    uint64_t smallest;
};

static void tree_done_auto(struct tree *tree)
{
    free(tree->totals);
    free(tree->self);
    free(tree->first_child);
    free(tree->next_sibling);
}

/* Puts `node` into its parent's list, behind all that are larger. */
static void insert(struct tree *tree, uint32_t node)
{
    uint32_t *place = &tree->first_child[tree->profile->nodes[node].parent];
    while (*place != SN_NO_INDEX && tree->totals[*place] >= tree->totals[node])
        place = &tree->next_sibling[*place];
    tree->next_sibling[node] = *place;
    *place = node;
}

static bool tree_init(struct tree *tree, const struct sn_show_view *view)
{
    const struct sn_profile *profile = view->profile;
    size_t count = profile->node_count;
    tree->profile = profile;
    tree->totals = sn_profile_node_totals(profile, view->column, SN_NO_INDEX, &tree->self);
    tree->first_child = malloc(count * sizeof(*tree->first_child));
    tree->next_sibling = malloc(count * sizeof(*tree->next_sibling));
    if (!tree->totals || !tree->first_child || !tree->next_sibling)
        return false;
    tree->smallest = tree->totals[0] / SMALLEST_SHARE + 1;
    for (size_t i = 0; i < count; i++)
        tree->first_child[i] = tree->next_sibling[i] = SN_NO_INDEX;
    for (uint32_t i = 1; i < count; i++) {
        if (tree->totals[i] >= tree->smallest)
            insert(tree, i);
    }
    return true;
}

static bool has_siblings(const struct tree *tree, uint32_t node)
{
    uint32_t first = tree->first_child[tree->profile->nodes[node].parent];
    return first != node || tree->next_sibling[node] != SN_NO_INDEX;
}

/* The next node in reading order below `root`; the depth follows. SN_NO_INDEX at the end. */
static uint32_t next_node(const struct tree *tree, uint32_t node, unsigned *depth)
{
    if (tree->first_child[node] != SN_NO_INDEX && *depth < DEEPEST) {
        ++*depth;
        return tree->first_child[node];
    }
    while (node && tree->next_sibling[node] == SN_NO_INDEX) {
        node = tree->profile->nodes[node].parent;
        --*depth;
    }
    return node ? tree->next_sibling[node] : SN_NO_INDEX;
}

/* --- text: a step to the right only where the tree forks, so that deep stacks stay readable --- */

static void put_node(struct sn_text_report *page, const struct tree *tree, uint32_t node,
                     unsigned indent)
{
    const struct sn_frame *frame = &tree->profile->frames[tree->profile->nodes[node].frame];
    sn_text_right_share(page, tree->totals[node], tree->totals[0], 8);
    if (tree->self[node])
        sn_text_right_share(page, tree->self[node], tree->totals[0], 9);
    else
        sn_text_cell(page, SN_STYLE_NONE, "", 9);
    sn_text_words(page, SN_STYLE_DIM, "  %*s%s", (int)indent * 2, "",
                  has_siblings(tree, node) ? "├ " : "│ ");
    sn_text_rest(page, frame->is_framework ? SN_STYLE_NONE : SN_STYLE_BOLD, frame->name);
    sn_text_end(page);
}

/* Whether nothing happens at a node: it has one caller, one callee, and spent nothing itself. */
static bool is_passing(const struct tree *tree, uint32_t node)
{
    uint32_t child = tree->first_child[node];
    return !has_siblings(tree, node) && !tree->self[node] && child != SN_NO_INDEX &&
           tree->next_sibling[child] == SN_NO_INDEX;
}

/* How many nodes from here on are passed through; of a long row the middle is folded. */
static unsigned passing_row(const struct tree *tree, uint32_t node, unsigned depth)
{
    unsigned count = 0;
    for (; is_passing(tree, node) && depth + count < DEEPEST; node = tree->first_child[node])
        count++;
    return count;
}

static void put_fold(struct sn_text_report *page, unsigned count, unsigned indent)
{
    sn_text_words(page, SN_STYLE_DIM, "%17s  %*s│ … %u frames", "", (int)indent * 2, "", count);
    sn_text_end(page);
}

/* Puts a row of nodes in which nothing happens: its ends, and how many lie between. */
static uint32_t put_row(struct sn_text_report *page, const struct tree *tree, uint32_t node,
                        unsigned *depth, unsigned indent)
{
    unsigned count = passing_row(tree, node, *depth);
    for (unsigned i = 0; i < count; i++) {
        if (i < ROW_END || i >= count - ROW_END || count <= ROW_MAX)
            put_node(page, tree, node, indent);
        else if (i == ROW_END)
            put_fold(page, count - 2 * ROW_END, indent);
        node = next_node(tree, node, depth);
    }
    return node;
}

void sn_report_text_tree(struct sn_text_report *page, const struct sn_report_show *show)
{
    if (show->primary < 0)
        return;
    const struct sn_show_view *view = &show->views[show->primary];
    SN_AUTO(tree_done) struct tree tree = {0};
    if (!tree_init(&tree, view))
        return;
    unsigned indents[DEEPEST + 1] = {0};
    unsigned depth = 0;
    sn_text_heading(page, "Call tree", "by %s; what is under half a percent is left out",
                    view->title);
    sn_text_words(page, SN_STYLE_DIM, "%8s%9s", "TOTAL", "SELF");
    sn_text_end(page);
    for (uint32_t node = next_node(&tree, 0, &depth); node != SN_NO_INDEX;
         node = next_node(&tree, node, &depth)) {
        unsigned indent = indents[depth - 1] + (has_siblings(&tree, node) && depth > 1);
        unsigned shown = indent < WIDEST ? indent : WIDEST;
        unsigned first = depth;
        node = put_row(page, &tree, node, &depth, shown);
        for (unsigned i = first; i <= depth; i++)
            indents[i] = indent;
        put_node(page, &tree, node, shown);
    }
}

/* --- JSON: nodes in reading order, each with its depth, so that no reader needs recursion --- */

static void write_view_tree(struct sn_json *json, const struct sn_show_view *view)
{
    SN_AUTO(tree_done) struct tree tree = {0};
    if (!tree_init(&tree, view))
        return;
    unsigned depth = 0;
    sn_json_array(json, view->name);
    for (uint32_t node = next_node(&tree, 0, &depth); node != SN_NO_INDEX;
         node = next_node(&tree, node, &depth)) {
        const struct sn_frame *frame = &tree.profile->frames[tree.profile->nodes[node].frame];
        sn_json_object(json, NULL);
        sn_json_u64(json, "depth", depth);
        sn_json_text(json, "name", frame->name);
        sn_json_u64(json, "self", tree.self[node]);
        sn_json_u64(json, "total", tree.totals[node]);
        sn_json_close(json);
    }
    sn_json_close(json);
}

void sn_report_json_tree(struct sn_json *json, const struct sn_report_show *show)
{
    sn_json_object(json, "tree");
    for (size_t i = 0; i < show->view_count; i++)
        write_view_tree(json, &show->views[i]);
    sn_json_close(json);
}
