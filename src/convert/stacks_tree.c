/* Stacks merged from the outermost frame on: how many threads went which way, the most first. A way
 * that does not fork stays at one depth. */
#include "convert/stacks_formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/table.h"
#include "base/text.h"

#define NODES_MAX   (1u << 19)
#define DEPTH_SHOW  24u /* forks that are indented; deeper ones stay there */
#define ENDING_SHOW 8u  /* threads by name, of those that are at a node */

struct node {
    const struct sonde_stack_frame *frame; /* NULL: the root */
    uint32_t parent;
    uint32_t first;  /* child; 0: none */
    uint32_t next;   /* sibling; 0: none */
    uint32_t count;  /* threads that went through */
    uint32_t ends;   /* threads whose innermost frame it is */
    uint32_t depth;  /* forks above it */
    uint32_t ending; /* first thread of those, plus one */
};

struct tree {
    struct node *nodes; /* owns; 0 is the root */
    size_t count;
    size_t capacity;
    struct sn_table children; /* key of parent and frame -> node */
    uint32_t *rest;           /* owns; of each thread: the next that ends where it does, plus one */
};

static void tree_done_auto(struct tree *tree)
{
    free(tree->nodes);
    free(tree->rest);
    sn_table_done(&tree->children);
}

/* --- building --- */

static uint64_t key_of(uint32_t parent, const struct sonde_stack_frame *frame)
{
    uint64_t key = sn_text_hash(parent + 1, frame->name);
    key = sn_text_hash(key, frame->module);
    return sn_text_hash(key, frame->file) * 31 + frame->line;
}

static bool add_node(struct tree *tree, uint32_t parent, const struct sonde_stack_frame *frame)
{
    struct node *nodes = tree->count < NODES_MAX ? sn_array_room(tree->nodes, tree->count,
                                                                 &tree->capacity, sizeof(*nodes))
                                                 : NULL;
    if (!nodes)
        return false;
    tree->nodes = nodes;
    nodes[tree->count++] = (struct node){.frame = frame, .parent = parent};
    return true;
}

/* The child of `parent` for the frame; `parent` itself without room. */
static uint32_t step(struct tree *tree, uint32_t parent, const struct sonde_stack_frame *frame)
{
    uint64_t *slot = sn_table_put(&tree->children, key_of(parent, frame));
    if (!slot)
        return parent;
    if (!*slot) {
        if (!add_node(tree, parent, frame))
            return parent;
        *slot = tree->count - 1;
    }
    return (uint32_t)*slot;
}

static bool build(struct tree *tree, const struct sn_stacks_view *view)
{
    tree->children = sn_table_with_limit(NODES_MAX);
    tree->rest = calloc(view->thread_count + 1, sizeof(*tree->rest));
    if (!tree->rest || !add_node(tree, 0, NULL))
        return false;
    for (size_t i = view->thread_count; i-- > 0;) {
        const struct sonde_stack_thread *thread = &view->threads[i];
        uint32_t at = 0;
        tree->nodes[0].count++;
        for (size_t j = thread->frame_count; j > 0; j--) {
            uint32_t next = step(tree, at, &thread->frames[j - 1]);
            tree->nodes[next].count += next != at;
            at = next;
        }
        tree->nodes[at].ends++;
        tree->rest[i] = tree->nodes[at].ending;
        tree->nodes[at].ending = (uint32_t)i + 1;
    }
    return true;
}

/* --- order --- */

static int by_parent_and_count(const void *one, const void *other, void *user)
{
    const struct tree *tree = user;
    uint32_t a = *(const uint32_t *)one;
    uint32_t b = *(const uint32_t *)other;
    const struct node *left = &tree->nodes[a];
    const struct node *right = &tree->nodes[b];
    if (left->parent != right->parent)
        return left->parent < right->parent ? -1 : 1;
    if (left->count != right->count)
        return left->count < right->count ? 1 : -1;
    return a < b ? -1 : a > b;
}

static bool link_children(struct tree *tree)
{
    SN_AUTO(sn_free) uint32_t *order = calloc(tree->count, sizeof(*order));
    if (!order)
        return false;
    for (uint32_t i = 0; i < tree->count; i++)
        order[i] = i;
    qsort_r(order + 1, tree->count - 1, sizeof(*order), by_parent_and_count, tree);
    for (size_t i = tree->count; i-- > 1;) {
        struct node *node = &tree->nodes[order[i]];
        struct node *parent = &tree->nodes[node->parent];
        node->next = parent->first;
        parent->first = order[i];
    }
    return true;
}

/* --- writing --- */

static void indent(struct sn_stream *stream, uint32_t depth)
{
    sn_buf_fill(&stream->buf, ' ', 4 * (size_t)(depth < DEPTH_SHOW ? depth : DEPTH_SHOW));
}

static void write_ending(struct sn_stream *stream, const struct sn_stacks_view *view,
                         const struct tree *tree, uint32_t index)
{
    uint32_t shown = 0;
    if (!tree->nodes[index].ends)
        return;
    indent(stream, tree->nodes[index].depth);
    sn_buf_text(&stream->buf, "         = ");
    for (uint32_t i = tree->nodes[index].ending; i && shown < ENDING_SHOW; i = tree->rest[i - 1]) {
        sn_buf_text(&stream->buf, shown++ ? ", " : "");
        sn_stacks_put_label(stream, view, i - 1);
    }
    if (tree->nodes[index].ends > shown)
        sn_buf_format(&stream->buf, " and %" PRIu32 " more", tree->nodes[index].ends - shown);
    sn_buf_u8(&stream->buf, '\n');
}

/* The number stands where the way begins or forks, and is the same down to the next fork. */
static void write_node(struct sn_stream *stream, const struct sn_stacks_view *view,
                       struct tree *tree, uint32_t index)
{
    struct node *node = &tree->nodes[index];
    const struct node *parent = &tree->nodes[node->parent];
    bool goes_on = node->parent && parent->count == node->count;
    node->depth = goes_on || !node->parent ? parent->depth : parent->depth + 1;
    indent(stream, node->depth);
    if (goes_on)
        sn_buf_text(&stream->buf, "     ");
    else
        sn_buf_format(&stream->buf, "%5" PRIu32, node->count);
    sn_stacks_put_frame(stream, node->frame);
    write_ending(stream, view, tree, index);
}

/* Depth first, without recursion. */
static void write_nodes(struct sn_stream *stream, const struct sn_stacks_view *view,
                        struct tree *tree)
{
    uint32_t at = tree->nodes[0].first;
    if (tree->nodes[0].ends)
        write_ending(stream, view, tree, 0);
    while (at) {
        write_node(stream, view, tree, at);
        if (tree->nodes[at].first) {
            at = tree->nodes[at].first;
            continue;
        }
        while (at && !tree->nodes[at].next)
            at = tree->nodes[at].parent;
        at = tree->nodes[at].next;
    }
}

void sn_stacks_tree_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    SN_AUTO(tree_done) struct tree tree = {0};
    sn_stacks_write_head(stream, view);
    if (!build(&tree, view) || !link_children(&tree)) {
        (void)sn_fail(&stream->err, SONDE_E_NOMEM, 0, "no memory for a tree of stacks");
        return;
    }
    sn_buf_u8(&stream->buf, '\n');
    write_nodes(stream, view, &tree);
    sn_stacks_write_tail(stream, view);
}
