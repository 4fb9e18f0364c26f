#include "convert/sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/own.h"
#include "base/table.h"

static bool is_type(const struct sn_profile *profile, uint32_t node)
{
    uint32_t frame = profile->nodes[node].frame;
    return frame != SN_NO_INDEX && profile->frames[frame].kind == SN_FRAME_TYPE;
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The framework's own means to throw, to pass on and to wait: they stand above the code that did
 * it, in every such stack. So does code without a name. */
static bool is_means(const struct sn_frame *frame)
{
    static const char *const types[] = {
        "System.Runtime.EH.",
        "System.Runtime.ExceptionServices.",
        "System.Runtime.CompilerServices.TaskAwaiter",
        "System.Runtime.CompilerServices.ValueTaskAwaiter",
        "System.Runtime.CompilerServices.ConfiguredTaskAwaitable",
        "System.Runtime.CompilerServices.ConfiguredValueTaskAwaitable",
        "System.Threading.Monitor.",
        "System.Threading.Lock.",
    };
    const char *dot = strrchr(frame->name, '.');
    if (frame->kind != SN_FRAME_MANAGED || strstr(frame->name, "ThrowHelper."))
        return true;
    if (begins(dot ? dot + 1 : frame->name, "Throw"))
        return true;
    if (frame->is_waiting && begins(frame->name, "System.Threading."))
        return true;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (begins(frame->name, types[i]))
            return true;
    }
    return false;
}

/* libc and what loads programs: everybody calls the kernel through them. */
static bool is_of_system(const struct sn_frame *frame)
{
    static const char *const modules[] = {"libc.so",    "libc-",   "ld-",
                                          "libpthread", "ld-musl", "[vdso]"};
    for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
        if (begins(frame->module, modules[i]))
            return true;
    }
    return !frame->module[0];
}

/* The frames that a node's site may be; indices, SN_NO_INDEX: none. */
struct sn_site_choice {
    uint32_t own;    /* nearest that the reader wrote */
    uint32_t plain;  /* nearest that is no mere means */
    uint32_t native; /* the runtime's own thread; else the nearest function of a program or library
                        that is not the system's own */
};

/* A thread of the runtime's own: what it is for says more than the function it is in. */
static bool is_runtime(const struct sn_profile *profile, uint32_t frame)
{
    return frame != SN_NO_INDEX && profile->frames[frame].kind == SN_FRAME_RUNTIME;
}

/* Of all nodes, parents first: one pass whatever the depth. */
static struct sn_site_choice *find_choices(const struct sn_profile *profile)
{
    struct sn_site_choice *choices = calloc(profile->node_count + 1, sizeof(*choices));
    if (!choices)
        return NULL;
    choices[0] = (struct sn_site_choice){SN_NO_INDEX, SN_NO_INDEX, SN_NO_INDEX};
    for (size_t i = 1; i < profile->node_count; i++) {
        const struct sn_node *node = &profile->nodes[i];
        const struct sn_frame *frame = &profile->frames[node->frame];
        uint32_t native = choices[node->parent].native;
        choices[i] = choices[node->parent];
        if (!frame->is_framework && frame->kind == SN_FRAME_MANAGED)
            choices[i].own = node->frame;
        if (!is_means(frame))
            choices[i].plain = node->frame;
        if (frame->kind == SN_FRAME_RUNTIME ||
            (frame->kind == SN_FRAME_NATIVE && !is_of_system(frame) &&
             !is_runtime(profile, native)))
            choices[i].native = node->frame;
    }
    return choices;
}

const struct sn_frame *sn_sites_frame(const struct sn_sites *sites,
                                      const struct sn_profile *profile, uint32_t node)
{
    if (node < profile->node_count && is_type(profile, node))
        node = profile->nodes[node].parent;
    if (!sites->choices || node >= profile->node_count || !node)
        return NULL;
    uint32_t frame = sites->choices[node].own;
    if (frame == SN_NO_INDEX)
        frame = sites->choices[node].plain;
    if (frame == SN_NO_INDEX)
        frame = sites->choices[node].native;
    return &profile->frames[frame == SN_NO_INDEX ? profile->nodes[node].frame : frame];
}

/* Type, if they are told apart, and frame of a row's node. */
static struct sn_site describe(const struct sn_sites *sites, const struct sn_profile *profile,
                               uint32_t node, bool by_type)
{
    return (struct sn_site){
        .type = by_type && is_type(profile, node) ? profile->nodes[node].frame : SN_NO_INDEX,
        .frame = sn_sites_frame(sites, profile, node),
    };
}

static uint64_t key_of(const struct sn_profile *profile, const struct sn_site *site)
{
    uint64_t frame = site->frame ? (uint64_t)(site->frame - profile->frames) + 1 : 0;
    return (uint64_t)site->type << 32 | frame;
}

/* False without memory. */
static bool add_row(struct sn_sites *sites, size_t *capacity, struct sn_table *index,
                    const struct sn_profile *profile, const struct sn_row *row, bool by_type)
{
    struct sn_site site = describe(sites, profile, row->node, by_type);
    uint64_t *place = sn_table_put(index, key_of(profile, &site));
    if (!place)
        return false;
    if (!*place) {
        struct sn_site *items = sn_array_room(sites->items, sites->count, capacity, sizeof(*items));
        if (!items)
            return false;
        sites->items = items;
        items[sites->count++] = site;
        *place = sites->count;
    }
    for (size_t i = 0; i < SN_COLUMN_MAX; i++)
        sites->items[*place - 1].values[i] += row->values[i];
    return true;
}

static int most_first(const void *left, const void *right, void *user)
{
    const struct sn_site *a = left;
    const struct sn_site *b = right;
    size_t column = *(const size_t *)user;
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    if (a->values[column] != b->values[column])
        return a->values[column] < b->values[column] ? 1 : -1;
    return strcmp(sn_site_name(a), sn_site_name(b));
}

static void find_sites(struct sn_sites *sites, const struct sn_profile *profile, int column,
                       bool by_type)
{
    size_t capacity = 0;
    *sites = (struct sn_sites){0};
    if (!profile || column < 0)
        return;
    struct sn_table index = sn_table_with_limit(profile->row_count + 1);
    sites->choices = find_choices(profile);
    bool has_memory = sites->choices;
    for (size_t i = 0; has_memory && i < profile->row_count; i++)
        has_memory = add_row(sites, &capacity, &index, profile, &profile->rows[i], by_type);
    sn_table_done(&index);
    if (!has_memory)
        sn_sites_done(sites);
    size_t chosen = (size_t)column;
    if (sites->count)
        qsort_r(sites->items, sites->count, sizeof(*sites->items), most_first, &chosen);
}

void sn_sites_find(struct sn_sites *sites, const struct sn_profile *profile, int column)
{
    find_sites(sites, profile, column, true);
}

void sn_sites_find_all(struct sn_sites *sites, const struct sn_profile *profile, int column)
{
    find_sites(sites, profile, column, false);
}

void sn_sites_done(struct sn_sites *sites)
{
    free(sites->items);
    free(sites->choices);
    *sites = (struct sn_sites){0};
}

/* The first item whose type is not below `type`. */
static size_t first_of(const struct sn_sites *sites, uint64_t type)
{
    size_t low = 0;
    size_t high = sites->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sites->items[middle].type < type)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sn_site *sn_sites_of_type(const struct sn_sites *sites, uint32_t type,
                                       size_t *ret_count)
{
    size_t first = first_of(sites, type);
    *ret_count = first_of(sites, (uint64_t)type + 1) - first;
    return *ret_count ? &sites->items[first] : NULL;
}

const char *sn_site_name(const struct sn_site *site)
{
    return site->frame ? site->frame->name : "(no stack)";
}
