#include "api/native_naming.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/native_lines.h"
#include "api/record_hits.h"
#include "api/symbol_writer.h"
#include "base/array.h"
#include "base/err.h"
#include "base/table.h"
#include "format/universal.h"
#include "symbol/kallsyms.h"
#include "symbol/objects.h"

#define FILE_LIMIT (1u << 16)

/* A hit in a file, by its address there. */
struct place {
    uint64_t vaddr; /* first: they are looked for by it */
    uint32_t object;
    uint32_t mapping;
    struct sn_hit *hit; /* borrows */
};

struct sn_native_naming {
    struct sn_hits *hits;
    struct sn_objects *objects;
    bool is_foreign;
    bool with_lines;
    struct sn_table opened; /* the recorder's number of a file -> ours */
    struct sn_symbol_writer *writer;
    struct place *places; /* owns; by object, address, mapping */
    size_t count;
    size_t next;      /* the first of the next file */
    size_t end;       /* of the present one */
    uint64_t *vaddrs; /* owns; of the present file */
    uint64_t kernel_named;
    struct sonde_error err; /* why something could not be written */
};

static int by_place(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->vaddr != b->vaddr)
        return a->vaddr < b->vaddr ? -1 : 1;
    return (a->mapping > b->mapping) - (a->mapping < b->mapping);
}

static bool has_build_id(struct sn_objects *objects, uint32_t object, const char *wanted)
{
    struct sn_object_facts facts;
    char text[2 * SN_BUILD_ID_MAX + 1] = "";
    if (!sn_objects_facts(objects, object, &facts))
        return false;
    for (uint32_t i = 0; i < facts.build_id_size; i++)
        (void)snprintf(text + (size_t)i * 2, 3, "%02x", facts.build_id[i]);
    return strcmp(text, wanted) == 0;
}

/* The file of a mapping that another recorder saw: its process may live, or the file lie where it
 * did. Only its build id says that it is the same. */
static uint32_t open_again(struct sn_native_naming *naming, const struct sn_hit_mapping *mapping)
{
    const char *build_id = sn_hits_build_id(naming->hits, mapping->object);
    const uint32_t pids[] = {mapping->pid, (uint32_t)getpid()};
    if (!*build_id)
        return 0;
    for (size_t i = 0; i < sizeof(pids) / sizeof(*pids); i++) {
        struct sn_object_mapping asked = {.pid = pids[i],
                                          .start = mapping->start,
                                          .end = mapping->end,
                                          .offset = mapping->offset,
                                          .path = mapping->path};
        uint32_t object = sn_objects_add(naming->objects, &asked);
        if (object && has_build_id(naming->objects, object, build_id))
            return object;
    }
    return 0;
}

static uint32_t object_of(struct sn_native_naming *naming, const struct sn_hit_mapping *mapping)
{
    if (!naming->is_foreign || !mapping->object)
        return mapping->object;
    uint64_t *known = sn_table_find(&naming->opened, mapping->object);
    if (known)
        return (uint32_t)*known;
    uint32_t object = open_again(naming, mapping);
    known = sn_table_put(&naming->opened, mapping->object);
    if (known)
        *known = object;
    return object;
}

static void collect(struct sn_native_naming *naming, struct sn_hit *hits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sn_hit_mapping *mapping = sn_hits_mapping(naming->hits, hits[i].mapping);
        struct sn_object_facts facts;
        uint32_t object = hits[i].is_named || !mapping ? 0 : object_of(naming, mapping);
        if (!object || !sn_objects_facts(naming->objects, object, &facts) || !facts.is_elf)
            continue;
        uint64_t offset = sn_hit_address(&hits[i]) - mapping->start + mapping->offset;
        naming->places[naming->count++] =
            (struct place){.object = object,
                           .mapping = hits[i].mapping,
                           .vaddr = sn_objects_vaddr(naming->objects, object, offset),
                           .hit = &hits[i]};
    }
}

int sn_native_naming_new(struct sn_hits *hits, struct sn_objects *objects, bool is_foreign,
                         struct sn_symbol_writer *writer, struct sn_native_naming **ret_naming,
                         struct sonde_error *err)
{
    size_t count = 0;
    struct sn_hit *all = sn_hits_all(hits, &count);
    struct sn_native_naming *naming = calloc(1, sizeof(*naming));
    if (naming) {
        naming->opened = sn_table_with_limit(FILE_LIMIT);
        naming->places = calloc(count + 1, sizeof(*naming->places));
        naming->vaddrs = calloc(count + 1, sizeof(*naming->vaddrs));
    }
    if (!naming || !naming->places || !naming->vaddrs) {
        sn_native_naming_free(naming);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for native names");
    }
    naming->hits = hits;
    naming->objects = objects;
    naming->is_foreign = is_foreign;
    naming->writer = writer;
    collect(naming, all, count);
    qsort(naming->places, naming->count, sizeof(*naming->places), by_place);
    *ret_naming = naming;
    return SONDE_OK;
}

void sn_native_naming_free(struct sn_native_naming *naming)
{
    if (!naming)
        return;
    sn_table_done(&naming->opened);
    free(naming->places);
    free(naming->vaddrs);
    free(naming);
}

void sn_native_naming_want_lines(struct sn_native_naming *naming)
{
    naming->with_lines = true;
}

/* Where a function lies in a process. */
static void write_in_mapping(struct sn_native_naming *naming, const struct place *place,
                             const struct sn_object_symbol *found)
{
    char nameless[40];
    const struct sn_hit_mapping *mapping = sn_hits_mapping(naming->hits, place->mapping);
    uint64_t start = sn_hit_address(place->hit) - (place->vaddr - found->start);
    (void)snprintf(nameless, sizeof(nameless), SN_UNIVERSAL_NAMELESS "%" PRIx64, found->start);
    struct sn_symbol symbol = {.pid = mapping->pid,
                               .mapping_id = mapping->id,
                               .start = start,
                               .size = found->size,
                               .name = *found->name ? found->name : nameless};
    int rc = sn_symbol_writer_put(naming->writer, &symbol, &naming->err);
    (void)rc; /* the error stays until the turn's end */
}

/* Of the present file's places the first at `vaddr`, or beyond it. */
static size_t first_place(const struct sn_native_naming *naming, uint64_t vaddr)
{
    return naming->next + sn_array_first(naming->places + naming->next, naming->end - naming->next,
                                         sizeof(*naming->places), vaddr);
}

/* The same function in every mapping that was hit there. */
static void take_function(void *user, const struct sn_object_symbol *found)
{
    struct sn_native_naming *naming = user;
    size_t first = first_place(naming, found->start);
    for (size_t i = first; i < naming->end; i++) {
        struct place *place = &naming->places[i];
        if (place->vaddr - found->start >= found->size)
            break;
        bool is_told = false;
        for (size_t j = i; j-- > first && !is_told;)
            is_told = naming->places[j].mapping == place->mapping;
        if (!is_told)
            write_in_mapping(naming, place, found);
        place->hit->is_named = place->hit->is_named || *found->name;
    }
}

static void take_line(void *user, uint64_t vaddr, const char *file, uint32_t line)
{
    struct sn_native_naming *naming = user;
    size_t i = first_place(naming, vaddr);
    for (; i < naming->end && naming->places[i].vaddr == vaddr; i++) {
        const struct place *place = &naming->places[i];
        const struct sn_hit_mapping *mapping = sn_hits_mapping(naming->hits, place->mapping);
        struct sn_symbol_line told = {.pid = mapping->pid,
                                      .mapping_id = mapping->id,
                                      .address = sn_hit_address(place->hit),
                                      .file = file,
                                      .line = line};
        int rc = sn_symbol_writer_put_line(naming->writer, &told, &naming->err);
        (void)rc; /* the error stays until the turn's end */
    }
}

int sn_native_naming_turn(struct sn_native_naming *naming, struct sonde_error *err)
{
    if (naming->next == naming->count)
        return SONDE_OK;
    uint32_t object = naming->places[naming->next].object;
    size_t count = 0;
    naming->end = naming->next;
    while (naming->end < naming->count && naming->places[naming->end].object == object) {
        uint64_t vaddr = naming->places[naming->end++].vaddr;
        if (!count || naming->vaddrs[count - 1] != vaddr)
            naming->vaddrs[count++] = vaddr;
    }
    sn_objects_symbols(naming->objects, object, naming->vaddrs, count, take_function, naming);
    if (naming->with_lines)
        (void)sn_native_lines(sn_objects_debug_fd(naming->objects, object), naming->vaddrs, count,
                              take_line, naming);
    naming->next = naming->end;
    if (naming->err.status)
        return sn_fail_as(err, &naming->err);
    return naming->next < naming->count ? SONDE_AGAIN : SONDE_OK;
}

static void take_kernel_function(void *user, const struct sn_kallsyms_symbol *found)
{
    struct sn_native_naming *naming = user;
    struct sn_symbol symbol = {.mapping_id = sn_hits_kernel_mapping(naming->hits),
                               .start = found->start,
                               .size = found->size,
                               .name = found->name};
    size_t count = 0;
    const uint64_t *addresses = sn_hits_kernel(naming->hits, &count);
    for (size_t i = 0; i < count; i++)
        naming->kernel_named += addresses[i] - found->start < found->size;
    int rc = sn_symbol_writer_put(naming->writer, &symbol, &naming->err);
    (void)rc; /* the error stays until the search's end */
}

int sn_native_naming_kernel(struct sn_native_naming *naming, struct sonde_error *err)
{
    size_t count = 0;
    const uint64_t *addresses = sn_hits_kernel(naming->hits, &count);
    if (!count || !sn_hits_kernel_mapping(naming->hits))
        return SONDE_OK;
    struct sonde_error hidden = {0};
    (void)sn_kallsyms_search(SN_KALLSYMS_PATH, addresses, count, take_kernel_function, naming,
                             &hidden);
    return naming->err.status ? sn_fail_as(err, &naming->err) : SONDE_OK;
}

uint64_t sn_native_naming_kernel_named(const struct sn_native_naming *naming)
{
    return naming->kernel_named;
}
