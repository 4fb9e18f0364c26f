#include "daemon/flame.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/table.h"
#include "base/text.h"

/* Beside those that are asked for: for those that are no more. */
#define NODES_SPARE 80000u
#define FRAMES_MAX  200000u
#define ARENA_MAX   (64u << 20)
#define SOURCE_MAX  1024u

struct frame {
    const char *name;
    const char *module;
    const char *source; /* "Orders.cs:42"; "" */
    int kind;
    uint32_t flags;   /* enum sonde_frame_flag */
    uint64_t version; /* when it came, or last changed */
};

struct node {
    uint32_t parent;
    uint32_t frame;
    uint64_t self;
    uint64_t total;
    uint64_t version; /* when it last changed */
};

struct sn_flame {
    _Atomic unsigned reference_count;
    uint64_t version;
    uint64_t first_version; /* of this numbering */
    uint64_t total;
    uint64_t duration_ns;
    uint64_t lost_count;
    char unit[16];
    struct sn_arena arena; /* texts */
    struct frame *frames;  /* owns */
    size_t frame_count;
    struct node *nodes; /* owns; 0 is the root */
    size_t node_count;
};

/* What is needed to make one, and no longer. */
struct making {
    struct sn_flame *flame;
    const struct sonde_profile *profile;
    struct sn_table frame_ids; /* by name, module, kind and source, to id + 1 */
    struct sn_table node_ids;  /* by parent and frame, to id + 1 */
    size_t nodes_max;          /* asked for */
    size_t capacity;           /* of the flame's nodes */
    uint64_t least;            /* nodes with less are left out ... */
    size_t least_count;        /* ... and of those that have just this, all but so many */
    uint32_t *frame_of;        /* of the profile's frames; UINT32_MAX: not asked for yet */
    uint32_t *node_of;         /* of the profile's nodes */
};

struct sn_flame *sn_flame_hold(struct sn_flame *flame)
{
    atomic_fetch_add(&flame->reference_count, 1);
    return flame;
}

void sn_flame_release(struct sn_flame *flame)
{
    if (!flame || atomic_fetch_sub(&flame->reference_count, 1) != 1)
        return;
    sn_arena_done(&flame->arena);
    free(flame->frames);
    free(flame->nodes);
    free(flame);
}

uint64_t sn_flame_version(const struct sn_flame *flame)
{
    return flame->version;
}

size_t sn_flame_bytes(const struct sn_flame *flame)
{
    return sizeof(*flame) + flame->arena.total + flame->frame_count * sizeof(*flame->frames) +
           flame->node_count * sizeof(*flame->nodes);
}

size_t sn_flame_node_count(const struct sn_flame *flame)
{
    return flame->node_count;
}

/* --- making --- */

/* Of a new numbering: above all that an older one of the same has told, whether it was forgotten or
 * of an earlier life. A graph has no new version each millisecond, and readers take them for
 * doubles. */
static uint64_t first_version(void)
{
    static _Atomic uint64_t last;
    uint64_t now_ms = sn_clock_utc_ns() / SN_NS_PER_MS;
    uint64_t before = atomic_load(&last);
    uint64_t version;
    do
        version = now_ms > before ? now_ms : before + 1;
    while (!atomic_compare_exchange_weak(&last, &before, version));
    return version;
}

static void making_done_auto(struct making *making)
{
    sn_table_done(&making->frame_ids);
    sn_table_done(&making->node_ids);
    free(making->frame_of);
    free(making->node_of);
    sn_flame_release(making->flame);
}

static uint64_t frame_key(const struct frame *frame)
{
    uint64_t hash = sn_text_hash(sn_text_hash((uint64_t)frame->kind + 1, frame->name), "\n");
    hash = sn_text_hash(sn_text_hash(hash, frame->module), "\n");
    return sn_text_hash(hash, frame->source);
}

static uint64_t node_key(uint32_t parent, uint32_t frame)
{
    return (uint64_t)parent << 32 | frame;
}

static bool copy_texts(struct sn_flame *flame, struct frame *frame)
{
    frame->name = sn_arena_copy(&flame->arena, frame->name, strlen(frame->name));
    frame->module = sn_arena_copy(&flame->arena, frame->module, strlen(frame->module));
    frame->source = sn_arena_copy(&flame->arena, frame->source, strlen(frame->source));
    return frame->name && frame->module && frame->source;
}

/* A method has one frame, whatever the compiler made of it: what is true of a part of it is told of
 * all. */
static void add_flags(struct sn_flame *flame, struct frame *frame, uint32_t flags)
{
    if ((frame->flags | flags) == frame->flags)
        return;
    frame->flags |= flags;
    frame->version = flame->version;
}

/* UINT32_MAX: no room. `from` is copied with its texts. */
static uint32_t add_frame(struct making *making, const struct frame *from)
{
    struct sn_flame *flame = making->flame;
    uint64_t *id = sn_table_put(&making->frame_ids, frame_key(from));
    if (!id)
        return UINT32_MAX;
    if (*id) {
        add_flags(flame, &flame->frames[*id - 1], from->flags);
        return (uint32_t)(*id - 1);
    }
    if (flame->frame_count == FRAMES_MAX)
        return UINT32_MAX;
    struct frame *frame = &flame->frames[flame->frame_count];
    *frame = *from;
    if (!copy_texts(flame, frame))
        return UINT32_MAX;
    *id = ++flame->frame_count;
    return (uint32_t)(*id - 1);
}

static uint32_t add_node(struct making *making, uint32_t parent, uint32_t frame)
{
    struct sn_flame *flame = making->flame;
    uint64_t *id = sn_table_put(&making->node_ids, node_key(parent, frame));
    if (!id)
        return UINT32_MAX;
    if (*id)
        return (uint32_t)(*id - 1);
    if (flame->node_count == making->capacity)
        return UINT32_MAX;
    flame->nodes[flame->node_count] =
        (struct node){.parent = parent, .frame = frame, .version = flame->version};
    *id = ++flame->node_count;
    return (uint32_t)(*id - 1);
}

/* What was, with its numbers taken out. */
static bool take_over(struct making *making, const struct sn_flame *before)
{
    for (size_t i = 0; i < before->frame_count; i++) {
        if (add_frame(making, &before->frames[i]) != i)
            return false;
    }
    for (size_t i = 1; i < before->node_count; i++) {
        if (add_node(making, before->nodes[i].parent, before->nodes[i].frame) != i)
            return false;
    }
    return true;
}

static uint32_t frame_of(struct making *making, uint32_t index)
{
    char source[SOURCE_MAX] = "";
    struct sonde_frame from;
    if (making->frame_of[index] != UINT32_MAX ||
        !sonde_profile_frame(making->profile, index, &from))
        return making->frame_of[index];
    if (from.file && from.line)
        (void)snprintf(source, sizeof(source), "%s:%u", from.file, from.line);
    else if (from.file)
        sn_text_copy(source, sizeof(source), from.file);
    const struct frame frame = {.name = from.name,
                                .module = from.module,
                                .source = source,
                                .kind = from.kind,
                                .flags = sonde_profile_frame_flags(making->profile, index),
                                .version = making->flame->version};
    making->frame_of[index] = add_frame(making, &frame);
    return making->frame_of[index];
}

/* --- the largest nodes --- */

static int compare_down(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* Which nodes there is room for: those with the largest totals. A caller has no less than what it
 * calls, so what is kept hangs together. False: no memory. */
static bool choose_least(struct making *making)
{
    size_t count = sonde_profile_node_count(making->profile);
    making->least = 1;
    making->least_count = count;
    if (count <= making->nodes_max)
        return true;
    SN_AUTO(sn_free) uint64_t *totals = calloc(count, sizeof(*totals));
    if (!totals)
        return false;
    for (size_t i = 1; i < count; i++) {
        struct sonde_node node;
        totals[i] = sonde_profile_node(making->profile, i, &node) ? node.total : 0;
    }
    qsort(totals + 1, count - 1, sizeof(*totals), compare_down);
    size_t above = making->nodes_max - 1; /* the root is one of them */
    uint64_t least = totals[above];
    if (!least)
        return true;
    while (above && totals[above] == least)
        above--;
    making->least = least;
    making->least_count = making->nodes_max - 1 - above;
    return true;
}

static bool is_small(struct making *making, uint64_t total)
{
    if (total != making->least)
        return total < making->least;
    if (!making->least_count)
        return true;
    making->least_count--;
    return false;
}

/* False: there is no room for all of it beside what was. */
static bool take_profile(struct making *making)
{
    struct sn_flame *flame = making->flame;
    size_t count = sonde_profile_node_count(making->profile);
    for (size_t i = 1; i < count; i++) {
        struct sonde_node node;
        making->node_of[i] = UINT32_MAX;
        if (!sonde_profile_node(making->profile, i, &node) || !node.total ||
            making->node_of[node.parent] == UINT32_MAX || is_small(making, node.total))
            continue;
        uint32_t frame = frame_of(making, node.frame);
        uint32_t id =
            frame == UINT32_MAX ? frame : add_node(making, making->node_of[node.parent], frame);
        if (id == UINT32_MAX)
            return false;
        making->node_of[i] = id;
        flame->nodes[id].self += node.self;
        flame->nodes[id].total += node.total;
    }
    return true;
}

static bool prepare(struct making *making, const struct sn_flame *before)
{
    size_t frame_count = sonde_profile_frame_count(making->profile);
    size_t node_count = sonde_profile_node_count(making->profile);
    struct sn_flame *flame = calloc(1, sizeof(*flame));
    making->flame = flame;
    if (!flame)
        return false;
    flame->reference_count = 1;
    flame->arena = sn_arena_with_limit(ARENA_MAX);
    flame->version = before ? before->version + 1 : first_version();
    flame->first_version = before ? before->first_version : flame->version;
    flame->total = sonde_profile_total(making->profile);
    flame->duration_ns = sonde_profile_duration_ns(making->profile);
    flame->lost_count = sonde_profile_lost_count(making->profile);
    (void)snprintf(flame->unit, sizeof(flame->unit), "%s", sonde_profile_unit(making->profile));
    flame->frames = calloc(FRAMES_MAX, sizeof(*flame->frames));
    flame->nodes = calloc(making->capacity, sizeof(*flame->nodes));
    making->frame_ids = sn_table_with_limit(FRAMES_MAX + 1);
    making->node_ids = sn_table_with_limit(making->capacity + 1);
    making->frame_of = malloc((frame_count + 1) * sizeof(*making->frame_of));
    making->node_of = calloc(node_count + 1, sizeof(*making->node_of));
    if (!flame->frames || !flame->nodes || !making->frame_of || !making->node_of ||
        !choose_least(making))
        return false;
    memset(making->frame_of, 0xff, (frame_count + 1) * sizeof(*making->frame_of));
    flame->node_count = 1;
    flame->nodes[0] =
        (struct node){.frame = UINT32_MAX, .total = flame->total, .version = flame->version};
    return true;
}

/* Nodes whose numbers are as they were changed when they changed then. */
static void compare(struct sn_flame *flame, const struct sn_flame *before)
{
    for (size_t i = 0; i < before->node_count; i++) {
        const struct node *old = &before->nodes[i];
        struct node *node = &flame->nodes[i];
        node->version =
            node->self == old->self && node->total == old->total ? old->version : flame->version;
    }
}

static void shrink(struct sn_flame *flame)
{
    struct frame *frames =
        realloc(flame->frames, (flame->frame_count + 1) * sizeof(*flame->frames));
    struct node *nodes = realloc(flame->nodes, flame->node_count * sizeof(*flame->nodes));
    flame->frames = frames ? frames : flame->frames;
    flame->nodes = nodes ? nodes : flame->nodes;
}

static int make(struct making *making, const struct sn_flame *before, bool is_anew,
                struct sn_flame **ret_flame, struct sonde_error *err)
{
    if (!prepare(making, before))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a flame graph");
    if (is_anew)
        making->flame->first_version = making->flame->version;
    else if (before && !take_over(making, before))
        return sn_fail(err, SONDE_E_LIMIT, 0, "the flame graph is too large");
    if (!take_profile(making))
        return sn_fail(err, SONDE_E_LIMIT, 0, "the flame graph is too large");
    if (before && !is_anew)
        compare(making->flame, before);
    shrink(making->flame);
    *ret_flame = SN_TAKE(making->flame);
    return SONDE_OK;
}

int sn_flame_new(const struct sn_flame *before, const struct sonde_profile *profile,
                 size_t nodes_max, struct sn_flame **ret_flame, struct sonde_error *err)
{
    const struct making blank = {
        .profile = profile, .nodes_max = nodes_max, .capacity = nodes_max + NODES_SPARE};
    SN_AUTO(making_done) struct making first = blank;
    int rc = make(&first, before, false, ret_flame, before ? NULL : err);
    if (rc == SONDE_OK || !before)
        return rc;
    SN_AUTO(making_done) struct making second = blank;
    return make(&second, before, true, ret_flame, err);
}

/* --- showing --- */

static const char *kind_name(int kind)
{
    static const char *const names[] = {
        [SONDE_FRAME_MANAGED] = "managed", [SONDE_FRAME_NATIVE] = "native",
        [SONDE_FRAME_RUNTIME] = "runtime", [SONDE_FRAME_TYPE] = "type",
        [SONDE_FRAME_KERNEL] = "kernel",   [SONDE_FRAME_PROCESS] = "process",
    };
    return kind >= 0 && kind <= SONDE_FRAME_PROCESS ? names[kind] : "";
}

static void write_frames(const struct sn_flame *flame, uint64_t since, struct sn_json *json)
{
    sn_json_array(json, "frames");
    for (size_t i = 0; i < flame->frame_count; i++) {
        const struct frame *frame = &flame->frames[i];
        if (frame->version <= since)
            continue;
        sn_json_array(json, NULL);
        sn_json_u64(json, NULL, i);
        sn_json_text(json, NULL, frame->name);
        sn_json_text(json, NULL, frame->module);
        sn_json_text(json, NULL, kind_name(frame->kind));
        sn_json_u64(json, NULL, frame->flags);
        sn_json_text(json, NULL, frame->source);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_nodes(const struct sn_flame *flame, uint64_t since, struct sn_json *json)
{
    sn_json_array(json, "nodes");
    for (size_t i = 0; i < flame->node_count; i++) {
        const struct node *node = &flame->nodes[i];
        if (node->version <= since || (!since && i && !node->total))
            continue;
        sn_json_array(json, NULL);
        sn_json_u64(json, NULL, i);
        sn_json_u64(json, NULL, node->parent);
        sn_json_i64(json, NULL, i ? (int64_t)node->frame : -1);
        sn_json_u64(json, NULL, node->self);
        sn_json_u64(json, NULL, node->total);
        sn_json_close(json);
    }
    sn_json_close(json);
}

void sn_flame_write(const struct sn_flame *flame, const struct sn_flame_show *show,
                    struct sn_buf *to)
{
    bool is_known = show->since >= flame->first_version && show->since <= flame->version;
    uint64_t since = is_known ? show->since : 0;
    struct sn_json json = sn_json_to(to);
    sn_json_object(&json, NULL);
    sn_json_u64(&json, "version", flame->version);
    sn_json_u64(&json, "since", since);
    sn_json_text(&json, "view", show->view);
    sn_json_text(&json, "unit", flame->unit);
    sn_json_u64(&json, "total", flame->total);
    sn_json_real(&json, "durationSeconds", (double)flame->duration_ns / 1e9);
    sn_json_u64(&json, "lost", flame->lost_count);
    sn_json_bool(&json, "complete", show->is_complete);
    write_frames(flame, since, &json);
    write_nodes(flame, since, &json);
    sn_json_close(&json);
}
