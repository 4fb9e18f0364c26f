/* Prints what sonde knows of an ELF file, so that a test can compare it with readelf: its facts,
 * and the functions that hold the virtual addresses which standard input lists in ascending order,
 * a hexadecimal number a line.
 *
 *   interop_symbols FILE */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "symbol/objects.h"

struct list {
    uint64_t *items; /* owns */
    size_t count;
    size_t capacity;
};

static bool read_list(struct list *list)
{
    char line[32];
    while (fgets(line, sizeof(line), stdin)) {
        uint64_t *items =
            sn_array_room(list->items, list->count, &list->capacity, sizeof(*list->items));
        if (!items)
            return false;
        list->items = items;
        items[list->count++] = strtoull(line, NULL, 16);
    }
    return true;
}

static void print_facts(struct sn_objects *objects, uint32_t object)
{
    struct sn_object_facts facts = {0};
    if (!sn_objects_facts(objects, object, &facts))
        return;
    (void)printf("%d %" PRIx64 " %" PRIx64 " ", facts.is_elf, facts.load_vaddr, facts.load_offset);
    for (uint32_t i = 0; i < facts.build_id_size; i++)
        (void)printf("%02x", (unsigned)facts.build_id[i]);
    (void)printf(" %s\n", facts.debug_link);
}

static void print_symbol(void *user, const struct sn_object_symbol *symbol)
{
    (void)user;
    (void)printf("%" PRIx64 " %" PRIx64 " %s\n", symbol->start, symbol->size, symbol->name);
}

int main(int argc, char **argv)
{
    struct sonde_error err = {0};
    struct sn_objects *objects = NULL;
    struct list list = {0};
    if (argc != 2 || sn_objects_new(&objects, &err) != SONDE_OK || !read_list(&list)) {
        (void)fprintf(stderr, "usage: %s FILE < ADDRESSES\n", argv[0]);
        return 2;
    }
    const struct sn_object_mapping mapping = {.pid = (uint32_t)getpid(), .path = argv[1]};
    uint32_t object = sn_objects_add(objects, &mapping);
    print_facts(objects, object);
    sn_objects_symbols(objects, object, list.items, list.count, print_symbol, NULL);
    sn_objects_free(objects);
    free(list.items);
    return object ? 0 : 1;
}
