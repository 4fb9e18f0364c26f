#include "api/live_maps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/table.h"
#include "symbol/code.h"
#include "symbol/objects.h"

#define PROCESSES_KEPT 64u
#define MAPS_LIMIT     (16u << 20)
#define MAPPINGS_MAX   65536u
#define NAMES_MAX      (1u << 18)
#define TEXTS_LIMIT    (32u << 20)
#define AGAIN_NS       SN_NS_PER_SECOND /* an unknown address is looked up anew after that */

/* An executable piece of a file. */
struct mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    uint32_t object; /* of symbol/objects.h; 0: none to read */
};

struct process {
    uint32_t pid; /* 0: free */
    uint64_t read_ns;
    uint64_t used_ns;
    struct mapping *mappings; /* owns; ascending, as /proc has them */
    size_t count;
    size_t capacity;
};

/* An address of a file, and the function it lies in. */
struct named {
    uint32_t object;
    uint64_t vaddr;
    uint64_t start;
    const char *name; /* "" for none */
    bool is_found;    /* its bounds are known at least */
};

struct sn_live_maps {
    struct sn_objects *objects;
    struct sn_table index; /* object and address to the number of a name and one */
    struct named *names;   /* owns; those not settled are at the end */
    size_t name_count;
    size_t name_capacity;
    size_t settled_count;
    struct sn_arena texts;
    struct sn_buf text;
    struct process processes[PROCESSES_KEPT];
};

int sn_live_maps_new(struct sn_objects *objects, struct sn_live_maps **ret_maps,
                     struct sonde_error *err)
{
    struct sn_live_maps *maps = calloc(1, sizeof(*maps));
    if (!maps)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for mappings");
    maps->objects = objects;
    maps->text = sn_buf_with_limit(MAPS_LIMIT);
    maps->index = sn_table_with_limit(NAMES_MAX);
    maps->texts = sn_arena_with_limit(TEXTS_LIMIT);
    *ret_maps = maps;
    return SONDE_OK;
}

void sn_live_maps_free(struct sn_live_maps *maps)
{
    for (size_t i = 0; maps && i < PROCESSES_KEPT; i++)
        free(maps->processes[i].mappings);
    if (!maps)
        return;
    sn_buf_done(&maps->text);
    sn_table_done(&maps->index);
    sn_arena_done(&maps->texts);
    free(maps->names);
    free(maps);
}

/* A number up to `end`, which is stepped over; 0 when there is none. */
static uint64_t take_number(const char **at, int base, char end)
{
    char *stop = NULL;
    uint64_t number = strtoull(*at, &stop, base);
    *at = stop + (*stop == end);
    return number;
}

/* "START-END r-xp OFFSET MAJOR:MINOR INODE   PATH"; false: no executable piece of a file. */
static bool read_line(const char *line, struct sn_object_mapping *told)
{
    const char *at = line;
    told->start = take_number(&at, 16, '-');
    told->end = take_number(&at, 16, ' ');
    if (strlen(at) < 5 || at[2] != 'x')
        return false;
    at += 5;
    told->offset = take_number(&at, 16, ' ');
    uint64_t major_number = take_number(&at, 16, ':');
    uint64_t minor_number = take_number(&at, 16, ' ');
    told->device = makedev((unsigned)major_number, (unsigned)minor_number);
    told->inode = take_number(&at, 10, ' ');
    told->path = at + strspn(at, " ");
    return told->path[0] == '/';
}

static void add_line(struct sn_live_maps *maps, struct process *process, const char *line)
{
    struct sn_object_mapping told = {.pid = process->pid};
    if (process->count == MAPPINGS_MAX || !read_line(line, &told))
        return;
    struct mapping *mappings =
        sn_array_room(process->mappings, process->count, &process->capacity, sizeof(*mappings));
    if (!mappings)
        return;
    process->mappings = mappings;
    mappings[process->count++] = (struct mapping){.start = told.start,
                                                  .end = told.end,
                                                  .offset = told.offset,
                                                  .object = sn_objects_add(maps->objects, &told)};
}

static void read_maps(struct sn_live_maps *maps, struct process *process)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", process->pid);
    process->count = 0;
    process->read_ns = sn_clock_monotonic_ns();
    sn_buf_clear(&maps->text);
    if (sn_file_read_at(AT_FDCWD, path, &maps->text, NULL) < 0)
        return;
    (void)sn_buf_string(&maps->text); /* ends it with a zero */
    char *rest = (char *)maps->text.bytes;
    for (char *line; rest && (line = strsep(&rest, "\n"));)
        add_line(maps, process, line);
}

/* The one with that pid, else the place of the one that was not asked for the longest. */
static struct process *process_of(struct sn_live_maps *maps, uint32_t pid)
{
    struct process *oldest = &maps->processes[0];
    for (size_t i = 0; i < PROCESSES_KEPT; i++) {
        struct process *process = &maps->processes[i];
        if (process->pid == pid)
            return process;
        if (process->used_ns < oldest->used_ns)
            oldest = process;
    }
    oldest->pid = pid;
    read_maps(maps, oldest);
    return oldest;
}

static const struct mapping *mapping_at(const struct process *process, uint64_t address)
{
    size_t low = 0;
    size_t high = process->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (process->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_in = low < process->count && process->mappings[low].start <= address;
    return is_in ? &process->mappings[low] : NULL;
}

/* The file behind an address and where in it; false: none whose functions could be told. */
static bool place_of(struct sn_live_maps *maps, uint32_t pid, uint64_t address,
                     struct sn_object_facts *ret_facts, struct named *ret_place)
{
    struct process *process = process_of(maps, pid);
    uint64_t now = sn_clock_monotonic_ns();
    process->used_ns = now;
    const struct mapping *mapping = mapping_at(process, address);
    if (!mapping && now - process->read_ns > AGAIN_NS) {
        read_maps(maps, process);
        mapping = mapping_at(process, address);
    }
    if (!mapping || !mapping->object ||
        !sn_objects_facts(maps->objects, mapping->object, ret_facts) || !ret_facts->is_elf)
        return false;
    uint64_t vaddr = sn_objects_vaddr(maps->objects, mapping->object,
                                      address - mapping->start + mapping->offset);
    *ret_place =
        (struct named){.object = mapping->object, .vaddr = vaddr, .start = vaddr, .name = ""};
    return true;
}

static uint64_t key_of(const struct named *place)
{
    return place->vaddr ^ place->object * 0x9E3779B97F4A7C15ull;
}

/* Whoever looks at a machine for days meets more than there is room for: all begins anew. */
void sn_live_maps_begin(struct sn_live_maps *maps)
{
    if (maps->name_count < NAMES_MAX / 2 && maps->texts.total < TEXTS_LIMIT / 2)
        return;
    sn_table_clear(&maps->index);
    sn_arena_done(&maps->texts);
    maps->texts = sn_arena_with_limit(TEXTS_LIMIT);
    maps->name_count = 0;
    maps->settled_count = 0;
}

void sn_live_maps_want(struct sn_live_maps *maps, uint32_t pid, uint64_t address)
{
    struct sn_object_facts facts;
    struct named place;
    if (!place_of(maps, pid, address, &facts, &place))
        return;
    uint64_t *number = sn_table_put(&maps->index, key_of(&place));
    if (!number || *number)
        return;
    struct named *names =
        sn_array_room(maps->names, maps->name_count, &maps->name_capacity, sizeof(*names));
    if (!names)
        return;
    maps->names = names;
    names[maps->name_count++] = place;
    *number = UINT64_MAX; /* known to be wanted */
}

static int by_place(const void *left, const void *right)
{
    const struct named *a = left;
    const struct named *b = right;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

/* The addresses of one file that are being named. */
struct batch {
    struct sn_live_maps *maps;
    struct named *places;
    size_t count;
};

static void take_symbol(void *user, const struct sn_object_symbol *symbol)
{
    struct batch *batch = user;
    const char *name = sn_arena_copy(&batch->maps->texts, symbol->name, strlen(symbol->name));
    for (size_t i = 0; name && i < batch->count; i++) {
        struct named *place = &batch->places[i];
        if (place->vaddr < symbol->start || place->vaddr - symbol->start >= symbol->size)
            continue;
        place->start = symbol->start;
        place->name = name;
        place->is_found = true;
    }
}

static void name_batch(struct batch *batch)
{
    uint64_t *vaddrs = calloc(batch->count, sizeof(*vaddrs));
    for (size_t i = 0; vaddrs && i < batch->count; i++)
        vaddrs[i] = batch->places[i].vaddr;
    if (vaddrs)
        sn_objects_symbols(batch->maps->objects, batch->places[0].object, vaddrs, batch->count,
                           take_symbol, batch);
    free(vaddrs);
}

/* What was not found is tried again another time: its file may be out of reach for now. */
static void keep_found(struct sn_live_maps *maps, const struct named *places, size_t count)
{
    size_t kept = maps->settled_count;
    for (size_t i = 0; i < count; i++) {
        struct named place = places[i];
        uint64_t *number = sn_table_find(&maps->index, key_of(&place));
        if (!number)
            continue;
        if (!place.is_found) {
            sn_table_remove(&maps->index, key_of(&place));
            continue;
        }
        maps->names[kept++] = place;
        *number = kept;
    }
    maps->settled_count = maps->name_count = kept;
}

void sn_live_maps_settle(struct sn_live_maps *maps)
{
    size_t count = maps->name_count - maps->settled_count;
    struct named *places = maps->names + maps->settled_count;
    if (!count)
        return;
    qsort(places, count, sizeof(*places), by_place);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && places[to].object == places[from].object;)
            to++;
        struct batch batch = {.maps = maps, .places = places + from, .count = to - from};
        name_batch(&batch);
    }
    keep_found(maps, places, count);
}

bool sn_live_maps_find(void *user, uint32_t pid, uint64_t address, struct sn_place *ret_place)
{
    struct sn_live_maps *maps = user;
    struct sn_object_facts facts;
    struct named place;
    if (!place_of(maps, pid, address, &facts, &place))
        return false;
    const uint64_t *number = sn_table_find(&maps->index, key_of(&place));
    if (number && *number && *number <= maps->settled_count)
        place = maps->names[*number - 1];
    ret_place->kind = SN_PLACE_NATIVE;
    ret_place->name = place.name;
    ret_place->module = facts.name;
    ret_place->offset = place.start;
    return true;
}
