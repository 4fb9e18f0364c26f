/* Joins pending async methods into chains. Who waits for whom is known from both ends: a task knows
 * who goes on when it completes, and a state machine holds what it waits for. */
#include "source/memory/pending_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "source/memory/object_fields.h"
#include "source/memory/object_index.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/state_machine.h"
#include "source/memory/task_links.h"
#include "source/memory/type_system.h"

#define EDGES_MAX  (4u << 20)
#define FRAMES_MAX (4u << 20)

struct node {
    uint64_t address; /* first: they are sorted by it */
    struct sn_async_box box;
    uint64_t blocks; /* an object by which a thread waits for it, or 0 */
    uint32_t first;  /* its edges outwards */
    uint32_t inner;  /* how many it waits for that are async methods too */
    bool is_seen;    /* part of a chain */
    bool is_on_path;
};

struct edge {
    uint32_t from; /* the inner one */
    uint32_t to;   /* the one that awaits it */
};

/* One method of the way that is being followed. */
struct step {
    uint32_t node;
    uint32_t next; /* edge to go on with */
    uint64_t key;  /* of the way up to here */
};

struct work {
    struct sn_runtime_memory *runtime;
    struct sn_type_system *types;
    const struct sn_object_index *index;
    struct sn_state_machines *machines; /* owns */
    struct sn_task_links *links;        /* owns */
    struct sn_object_fields fields;
    struct node *nodes; /* owns; one too many, for where its edges end */
    uint32_t node_count;
    struct edge *edges; /* owns */
    size_t edge_count;
    size_t edge_capacity;
    uint32_t current; /* whose continuations are followed */
    struct sn_table
        machines_at;          /* state machine that is an object to index of its node, plus one */
    struct sn_table promises; /* task to the type of its TaskCompletionSource */
    struct sn_table chains;   /* key to index in the list, plus one */
    size_t chain_capacity;
    size_t frame_capacity;
    uint32_t steps;
    struct step path[SN_TASK_DEPTH_MAX];
    struct sn_task_list *list;
};

static void work_done_auto(struct work *work)
{
    sn_state_machines_free(work->machines);
    sn_task_links_free(work->links);
    sn_object_fields_done(&work->fields);
    free(work->nodes);
    free(work->edges);
    sn_table_done(&work->machines_at);
    sn_table_done(&work->promises);
    sn_table_done(&work->chains);
}

/* --- nodes --- */

static void add_nodes(struct work *work, enum sn_object_role role)
{
    const struct sn_found_object *objects;
    size_t count = sn_object_index_list(work->index, role, &objects);
    for (size_t i = 0; i < count; i++) {
        struct node node = {.address = objects[i].address};
        bool is_proved = sn_state_machines_read(work->machines, &objects[i], &node.box);
        if (role == SN_OBJECT_BOX || is_proved)
            work->list->boxes++;
        if (!is_proved)
            work->list->dropped += role == SN_OBJECT_BOX; /* others are pools' spare ones */
        else if (node.box.state >=
                 SN_STATE_RUNNING) /* below: it has ended, or waits for its caller */
            work->nodes[work->node_count++] = node;
    }
}

static int by_address(const void *a, const void *b)
{
    uint64_t left = ((const struct node *)a)->address;
    uint64_t right = ((const struct node *)b)->address;
    return (left > right) - (left < right);
}

static bool find_nodes(struct work *work)
{
    const struct sn_found_object *unused;
    size_t most = sn_object_index_list(work->index, SN_OBJECT_BOX, &unused) +
                  sn_object_index_list(work->index, SN_OBJECT_POOLED_BOX, &unused);
    work->nodes = calloc(most + 1, sizeof(*work->nodes));
    if (!work->nodes)
        return false;
    add_nodes(work, SN_OBJECT_BOX);
    add_nodes(work, SN_OBJECT_POOLED_BOX);
    qsort(work->nodes, work->node_count, sizeof(*work->nodes), by_address);
    for (uint32_t i = 0; i < work->node_count; i++) {
        uint64_t object = work->nodes[i].box.object;
        uint64_t *place = object ? sn_table_put(&work->machines_at, object) : NULL;
        if (place)
            *place = i + 1;
    }
    return true;
}

/* --- edges --- */

static bool find_node(const struct work *work, uint64_t address, uint32_t *ret_node)
{
    size_t i = sn_array_first(work->nodes, work->node_count, sizeof(*work->nodes), address);
    *ret_node = (uint32_t)i;
    return i < work->node_count && work->nodes[i].address == address;
}

/* The async method that is behind what is waited for. */
static bool find_inner(const struct work *work, uint64_t awaited, uint32_t *ret_node)
{
    if (!awaited)
        return false;
    const uint64_t *place = sn_table_find(&work->machines_at, awaited);
    if (place)
        *ret_node = (uint32_t)(*place - 1);
    return place || find_node(work, awaited, ret_node);
}

static bool add_edge(struct work *work, uint32_t from, uint32_t to)
{
    if (work->edge_count >= EDGES_MAX || from == to)
        return true;
    struct edge *edges =
        sn_array_room(work->edges, work->edge_count, &work->edge_capacity, sizeof(*edges));
    if (!edges)
        return false;
    work->edges = edges;
    edges[work->edge_count++] = (struct edge){.from = from, .to = to};
    return true;
}

static bool take_awaiting(void *user, uint64_t box)
{
    struct work *work = user;
    uint32_t to;
    return !find_node(work, box, &to) || add_edge(work, work->current, to);
}

static int by_ends(const void *a, const void *b)
{
    const struct edge *left = a;
    const struct edge *right = b;
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return (left->to > right->to) - (left->to < right->to);
}

/* Sorts them, drops those that were found from both ends, and tells each node where its own are. */
static void settle_edges(struct work *work)
{
    size_t kept = 0;
    if (work->edge_count)
        qsort(work->edges, work->edge_count, sizeof(*work->edges), by_ends);
    for (size_t i = 0; i < work->edge_count; i++) {
        if (kept && by_ends(&work->edges[kept - 1], &work->edges[i]) == 0)
            continue;
        work->edges[kept++] = work->edges[i];
    }
    work->edge_count = kept;
    size_t at = 0;
    for (uint32_t i = 0; i <= work->node_count; i++) {
        while (at < kept && work->edges[at].from < i)
            at++;
        work->nodes[i].first = (uint32_t)at;
    }
    for (size_t i = 0; i < kept; i++)
        work->nodes[work->edges[i].to].inner++;
}

static bool find_edges(struct work *work)
{
    for (uint32_t i = 0; i < work->node_count; i++) {
        struct node *node = &work->nodes[i];
        uint32_t inner;
        work->current = i;
        if (find_inner(work, node->box.awaited, &inner) && !add_edge(work, inner, i))
            return false;
        if (node->box.continuation && !sn_task_links_follow(work->links, node->box.continuation,
                                                            take_awaiting, work, &node->blocks))
            return false;
    }
    settle_edges(work);
    return true;
}

/* --- what the innermost waits for --- */

static bool find_promises(struct work *work)
{
    const struct sn_found_object *objects;
    size_t count = sn_object_index_list(work->index, SN_OBJECT_PROMISE, &objects);
    for (size_t i = 0; i < count; i++) {
        uint64_t task;
        uint32_t offset =
            sn_object_fields_at(&work->fields, objects[i].type, SN_FIELD_PROMISE_TASK);
        if (!offset || offset + sizeof(task) > objects[i].size)
            continue;
        memcpy(&task, objects[i].bytes + offset, sizeof(task));
        uint64_t *place = task ? sn_table_put(&work->promises, task) : NULL;
        if (place)
            *place = objects[i].type;
        else if (task)
            return false;
    }
    return true;
}

static const char *name_awaited(struct work *work, uint64_t object)
{
    const uint64_t *promise = object ? sn_table_find(&work->promises, object) : NULL;
    const struct sn_memory_type *type = promise ? sn_type_system_type(work->types, *promise) : NULL;
    if (type)
        return type->name;
    return object ? sn_type_system_object_type(work->types, object) : "";
}

/* --- chains --- */

static bool write_frames(struct work *work, size_t depth, struct sn_task_chain *chain)
{
    struct sn_task_list *list = work->list;
    chain->first = (uint32_t)list->frame_count;
    for (size_t i = 0; i < depth && list->frame_count < FRAMES_MAX; i++) {
        struct sn_task_frame *frames =
            sn_array_room(list->frames, list->frame_count, &work->frame_capacity, sizeof(*frames));
        if (!frames)
            return false;
        list->frames = frames;
        const struct node *node = &work->nodes[work->path[i].node];
        frames[list->frame_count++] =
            (struct sn_task_frame){.box = node->address,
                                   .type = node->box.machine->type,
                                   .type_name = node->box.machine->type_name,
                                   .module = node->box.machine->module,
                                   .token = node->box.machine->token,
                                   .state = node->box.state};
        chain->frame_count++;
    }
    return true;
}

/* A method that runs and that nobody awaits is on a thread's stack: no chain of its own. */
static bool is_idle_running(const struct work *work, size_t depth)
{
    const struct node *node = &work->nodes[work->path[0].node];
    return depth == 1 && node->box.state == SN_STATE_RUNNING;
}

/* How a way ends. */
enum ending {
    ENDING_WHOLE,
    ENDING_CIRCLE,
    ENDING_CUT,
};

/* Counts the way of `depth` methods. False: no memory. */
static bool add_chain(struct work *work, size_t depth, enum ending ending)
{
    struct sn_task_list *list = work->list;
    const struct node *inner = &work->nodes[work->path[0].node];
    uint64_t blocks = work->nodes[work->path[depth - 1].node].blocks;
    uint64_t facts[2] = {work->path[depth - 1].key, (blocks != 0) | (uint64_t)ending << 1};
    if (is_idle_running(work, depth))
        return true;
    uint64_t *place = sn_table_put(&work->chains, sn_table_key(facts, sizeof(facts)));
    if (!place)
        return list->count >= SN_TASK_CHAINS_MAX; /* more kinds than are shown */
    if (*place) {
        list->chains[*place - 1].count++;
        return true;
    }
    struct sn_task_chain *chains =
        sn_array_room(list->chains, list->count, &work->chain_capacity, sizeof(*chains));
    if (!chains)
        return false;
    list->chains = chains;
    *place = list->count + 1;
    struct sn_task_chain *chain = &chains[list->count++];
    *chain = (struct sn_task_chain){.count = 1,
                                    .waits_on = name_awaited(work, inner->box.awaited),
                                    .blocks = blocks,
                                    .is_circle = ending == ENDING_CIRCLE};
    chain->is_ready =
        inner->box.awaited && sn_task_links_is_completed(work->links, inner->box.awaited);
    if (ending == ENDING_CIRCLE)
        chain->waits_on = work->nodes[work->path[depth - 1].node].box.machine->type_name;
    return write_frames(work, depth, chain);
}

static struct step step_to(struct work *work, uint32_t index, uint64_t key)
{
    struct node *node = &work->nodes[index];
    uint64_t facts[3] = {key, node->box.machine->type, (uint32_t)node->box.state};
    node->is_seen = true;
    node->is_on_path = true;
    return (struct step){
        .node = index, .next = node->first, .key = sn_table_key(facts, sizeof(facts))};
}

/* What tells two innermost methods apart besides themselves: the type they wait for. */
static uint64_t start_key(struct work *work, uint32_t start)
{
    const char *name = name_awaited(work, work->nodes[start].box.awaited);
    return sn_table_key(name, strlen(name));
}

static uint32_t edges_end(const struct work *work, uint32_t node)
{
    return work->nodes[node + 1].first;
}

/* Whether a chain ends with the last method of the way, and how. */
static bool ends_here(const struct work *work, size_t depth, bool *is_cut)
{
    const struct step *last = &work->path[depth - 1];
    *is_cut = false;
    if (work->nodes[last->node].first == edges_end(work, last->node))
        return true;
    *is_cut = depth >= SN_TASK_DEPTH_MAX;
    return *is_cut;
}

/* All ways outwards from one method, one after the other. False: no memory. */
static bool follow_from(struct work *work, uint32_t start)
{
    size_t depth = 1;
    bool is_cut;
    work->path[0] = step_to(work, start, start_key(work, start));
    while (depth) {
        struct step *last = &work->path[depth - 1];
        if (work->steps++ >= SN_TASK_STEPS_MAX) {
            while (depth)
                work->nodes[work->path[--depth].node].is_on_path = false;
            return true;
        }
        bool is_end = ends_here(work, depth, &is_cut);
        if (is_end && !add_chain(work, depth, is_cut ? ENDING_CUT : ENDING_WHOLE))
            return false;
        if (is_end || last->next >= edges_end(work, last->node)) {
            work->nodes[last->node].is_on_path = false;
            depth--;
            continue;
        }
        uint32_t to = work->edges[last->next++].to;
        if (!work->nodes[to].is_on_path)
            work->path[depth++] = step_to(work, to, last->key);
        else if (!add_chain(work, depth, ENDING_CIRCLE)) /* they wait for each other */
            return false;
    }
    return true;
}

static bool find_chains(struct work *work)
{
    for (uint32_t i = 0; i < work->node_count; i++) {
        if (!work->nodes[i].inner && !follow_from(work, i))
            return false;
    }
    for (uint32_t i = 0; i < work->node_count; i++) { /* what is left waits for itself */
        if (!work->nodes[i].is_seen && !follow_from(work, i))
            return false;
    }
    return true;
}

static int by_count(const void *a, const void *b)
{
    const struct sn_task_chain *left = a;
    const struct sn_task_chain *right = b;
    if (left->count != right->count)
        return left->count > right->count ? -1 : 1;
    return (left->first > right->first) - (left->first < right->first);
}

static void write_remark(struct work *work)
{
    struct sn_task_list *list = work->list;
    if (work->steps >= SN_TASK_STEPS_MAX || list->count >= SN_TASK_CHAINS_MAX)
        snprintf(list->remark, sizeof(list->remark), "more chains of async methods than are shown");
    else if (list->dropped)
        snprintf(list->remark, sizeof(list->remark),
                 "%llu of %llu async methods changed while they were read, or could not be told",
                 (unsigned long long)list->dropped, (unsigned long long)list->boxes);
}

int sn_tasks_read(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                  const struct sn_object_index *index, struct sn_task_list *ret_list,
                  struct sonde_error *err)
{
    SN_AUTO(work_done)
    struct work work = {
        .runtime = runtime,
        .types = types,
        .index = index,
        .fields = sn_object_fields_of(types),
        .machines_at = sn_table_with_limit(SN_OBJECT_INDEX_MAX),
        .promises = sn_table_with_limit(SN_OBJECT_INDEX_MAX),
        .chains = sn_table_with_limit(SN_TASK_CHAINS_MAX),
        .list = ret_list,
    };
    *ret_list = (struct sn_task_list){0};
    int rc = sn_state_machines_new(runtime, types, &work.machines, err);
    if (rc == SONDE_OK)
        rc = sn_task_links_new(runtime, types, index, &work.links, err);
    if (rc != SONDE_OK)
        return rc;
    if (!find_nodes(&work) || !find_edges(&work) || !find_promises(&work) || !find_chains(&work)) {
        sn_tasks_done(ret_list);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for chains of async methods");
    }
    if (ret_list->count)
        qsort(ret_list->chains, ret_list->count, sizeof(*ret_list->chains), by_count);
    write_remark(&work);
    return SONDE_OK;
}

void sn_tasks_done(struct sn_task_list *list)
{
    free(list->chains);
    free(list->frames);
    *list = (struct sn_task_list){0};
}
