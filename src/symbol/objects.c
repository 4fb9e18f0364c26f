#include "symbol/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/err.h"
#include "base/table.h"
#include "base/text.h"
#include "format/eh_frame.h"
#include "format/elf.h"
#include "symbol/demangle.h"
#include "symbol/object_debug.h"
#include "symbol/object_file.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_search.h"

#define OBJECT_MAX    (16u << 10)
#define TEXT_LIMIT    (8u << 20)
#define PATH_LIMIT    4096u
#define OPEN_LIMIT    192u /* descriptors; a process may have 1024 by default */
#define BLOCK_BITS    8u
#define BLOCK_SIZE    512u /* small: a search through a large table comes back to few places */
#define BLOCK_COUNT   (1u << BLOCK_BITS)
#define READABLE_SIZE 2048u
#define GOLDEN        0x9E3779B97F4A7C15u /* spreads numbers over a hash */

_Static_assert(SN_BUILD_ID_MAX == SN_ELF_BUILD_ID_MAX, "one is the other");

enum { FILE_OWN, FILE_DEBUG, FILE_COUNT };

struct object {
    struct sn_object_file files[FILE_COUNT]; /* the second is closed and has no path: none */
    uint64_t used[FILE_COUNT];               /* when, by `clock` */
    struct sn_elf elf;
    struct sn_elf_symbols debug_symbols;
    const char *path;
    const char *name;
    bool is_elf;
    bool debug_has_info;
    bool debug_needs_crc; /* not looked at before that */
};

struct block {
    uint64_t file; /* 0: empty */
    uint64_t number;
    size_t size;
    uint8_t bytes[BLOCK_SIZE];
};

struct sn_objects {
    struct object *items; /* owns */
    size_t count;
    size_t capacity;
    struct sn_table by_mapping; /* to numbers; device, inode and path as mapped */
    struct sn_table by_file;    /* device, inode and size as opened */
    struct sn_arena texts;
    struct sn_symbol_cache cache;
    uint64_t clock;
    uint32_t open_count;
    struct block blocks[BLOCK_COUNT];
};

/* One file of one object, as the readers of formats want it. */
struct reading {
    struct sn_objects *objects;
    uint32_t object;
    uint32_t file; /* FILE_ */
};

int sn_objects_new(struct sn_objects **ret_objects, struct sonde_error *err)
{
    struct sn_objects *objects = calloc(1, sizeof(*objects));
    if (!objects)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the files of processes");
    objects->by_mapping = sn_table_with_limit((size_t)OBJECT_MAX * 4);
    objects->by_file = sn_table_with_limit(OBJECT_MAX);
    objects->texts = sn_arena_with_limit(TEXT_LIMIT);
    *ret_objects = objects;
    return SONDE_OK;
}

void sn_objects_free(struct sn_objects *objects)
{
    if (!objects)
        return;
    for (size_t i = 0; i < objects->count; i++) {
        for (size_t file = 0; file < FILE_COUNT; file++)
            sn_object_file_close(&objects->items[i].files[file]);
    }
    free(objects->items);
    sn_table_done(&objects->by_mapping);
    sn_table_done(&objects->by_file);
    sn_arena_done(&objects->texts);
    sn_symbol_cache_done(&objects->cache);
    free(objects);
}

static struct object *object_at(struct sn_objects *objects, uint32_t object)
{
    return object && object <= objects->count ? &objects->items[object - 1] : NULL;
}

/* ---- descriptors: open, but not too many ---- */

static void close_oldest(struct sn_objects *objects)
{
    struct sn_object_file *oldest = NULL;
    uint64_t oldest_use = UINT64_MAX;
    for (size_t i = 0; i < objects->count * FILE_COUNT; i++) {
        struct object *object = &objects->items[i / FILE_COUNT];
        if (object->files[i % FILE_COUNT].fd >= 0 && object->used[i % FILE_COUNT] < oldest_use) {
            oldest = &object->files[i % FILE_COUNT];
            oldest_use = object->used[i % FILE_COUNT];
        }
    }
    if (!oldest)
        return;
    sn_object_file_close(oldest);
    objects->open_count--;
}

static bool wake(struct sn_objects *objects, uint32_t number, uint32_t which)
{
    struct object *object = object_at(objects, number);
    struct sn_object_file *file = &object->files[which];
    bool was_open = file->fd >= 0;
    if (!sn_object_file_reopen(file))
        return false;
    if (file->memory)
        return true;
    object->used[which] = ++objects->clock;
    objects->open_count += !was_open;
    if (objects->open_count > OPEN_LIMIT)
        close_oldest(objects);
    return true;
}

/* ---- reading, with the last few blocks kept ---- */

static struct block *load_block(const struct reading *reading, uint64_t number)
{
    struct sn_objects *objects = reading->objects;
    uint64_t file = (uint64_t)reading->object * FILE_COUNT + reading->file;
    uint64_t hash = (number ^ file << 40) * GOLDEN;
    struct block *block = &objects->blocks[hash >> (64 - BLOCK_BITS)];
    if (block->file == file && block->number == number)
        return block;
    block->file = 0;
    if (!wake(objects, reading->object, reading->file))
        return NULL;
    block->size = sn_object_file_read(&object_at(objects, reading->object)->files[reading->file],
                                      number * BLOCK_SIZE, block->bytes, BLOCK_SIZE);
    block->number = number;
    block->file = file;
    return block;
}

static size_t read_blocks(const struct reading *reading, uint64_t offset, uint8_t *to, size_t size)
{
    size_t have = 0;
    while (have < size) {
        const struct block *block = load_block(reading, (offset + have) / BLOCK_SIZE);
        size_t skip = (size_t)((offset + have) % BLOCK_SIZE);
        if (!block || block->size <= skip)
            break;
        size_t part = block->size - skip < size - have ? block->size - skip : size - have;
        memcpy(to + have, block->bytes + skip, part);
        have += part;
    }
    return have;
}

static size_t read_object(void *user, uint64_t offset, void *to, size_t size)
{
    const struct reading *reading = user;
    if (offset > INT64_MAX - size)
        return 0;
    if (size < BLOCK_SIZE)
        return read_blocks(reading, offset, to, size);
    if (!wake(reading->objects, reading->object, reading->file))
        return 0;
    const struct object *object = object_at(reading->objects, reading->object);
    return sn_object_file_read(&object->files[reading->file], offset, to, size);
}

/* ---- adding ---- */

static uint64_t mapping_key(const struct sn_object_mapping *mapping)
{
    return sn_text_hash((mapping->inode * GOLDEN) ^ mapping->device, mapping->path);
}

static uint64_t file_key(const struct sn_object_file *file)
{
    return (file->inode * GOLDEN) ^ (file->device << 32) ^ file->size;
}

/* The object that is this file, or 0. */
static uint32_t find_file(struct sn_objects *objects, const struct sn_object_file *file)
{
    const uint64_t *number = sn_table_find(&objects->by_file, file_key(file));
    if (!number || !sn_object_file_is_same(&objects->items[*number - 1].files[FILE_OWN], file))
        return 0;
    return (uint32_t)*number;
}

/* The path that it had while it had one. */
static const char *copy_path(struct sn_arena *texts, const char *path)
{
    size_t size = strlen(path);
    size_t tail = strlen(SN_OBJECT_DELETED);
    if (size > tail && strcmp(path + size - tail, SN_OBJECT_DELETED) == 0)
        size -= tail;
    return sn_arena_copy(texts, path, size);
}

static struct object *new_object(struct sn_objects *objects, const char *path)
{
    struct object *items = NULL;
    if (objects->count < OBJECT_MAX)
        items = sn_array_room(objects->items, objects->count, &objects->capacity, sizeof(*items));
    if (!items)
        return NULL;
    objects->items = items;
    const char *place = sn_arena_copy(&objects->texts, path, strlen(path));
    const char *plain = copy_path(&objects->texts, path);
    if (!place || !plain)
        return NULL;
    const char *slash = strrchr(plain, '/');
    struct object *object = &items[objects->count++];
    *object = (struct object){.path = plain, .name = slash ? slash + 1 : plain};
    object->files[FILE_OWN] = (struct sn_object_file){.place.path = place, .fd = -1};
    object->files[FILE_DEBUG].fd = -1;
    return object;
}

static void add_debug(struct sn_objects *objects, struct object *object)
{
    struct sn_elf elf = {0};
    if (object->elf.all.count || /* stripped of nothing */
        !sn_object_debug_find(&object->files[FILE_OWN], &object->elf, &objects->texts,
                              &object->files[FILE_DEBUG], &elf, &object->debug_needs_crc))
        return;
    object->debug_symbols = elf.all;
    object->debug_has_info = elf.has_debug_info;
    object->used[FILE_DEBUG] = ++objects->clock;
    objects->open_count++;
}

/* Takes `file` in any case. */
static uint32_t add_file(struct sn_objects *objects, const struct sn_object_mapping *mapping,
                         struct sn_object_file *file)
{
    struct sonde_error err = {0};
    struct object *object = new_object(objects, mapping->path);
    uint64_t *slot = object ? sn_table_put(&objects->by_file, file_key(file)) : NULL;
    if (!slot) {
        sn_object_file_close(file);
        return 0;
    }
    uint32_t number = (uint32_t)objects->count;
    *slot = number;
    file->place.path = object->files[FILE_OWN].place.path;
    object->files[FILE_OWN] = *file;
    object->used[FILE_OWN] = ++objects->clock;
    objects->open_count += file->fd >= 0;
    struct reading reading = {objects, number, FILE_OWN};
    object->is_elf =
        sn_elf_read(&(struct sn_read_at){read_object, &reading}, &object->elf, &err) == SONDE_OK;
    if (object->is_elf && !file->memory)
        add_debug(objects, object);
    if (!object->is_elf) {
        sn_object_file_close(&object->files[FILE_OWN]);
        objects->open_count--;
    }
    while (objects->open_count > OPEN_LIMIT)
        close_oldest(objects);
    return number;
}

/* What is known to be memory, or no absolute path. */
static bool is_no_file(const char *path)
{
    return path[0] != '/' || strncmp(path, "//anon", 6) == 0 ||
           strncmp(path, "/memfd:doublemapper", 19) == 0 || strnlen(path, PATH_LIMIT) == PATH_LIMIT;
}

/* A number that a mapping had before; as long as we have the file open, or need it no more, nobody
 * can have put another in its place. */
static uint32_t find_mapping(struct sn_objects *objects, const struct sn_object_mapping *mapping,
                             uint64_t key)
{
    const uint64_t *number = mapping->inode ? sn_table_find(&objects->by_mapping, key) : NULL;
    const struct object *object = number ? &objects->items[*number - 1] : NULL;
    bool is_sure = object && (object->files[FILE_OWN].fd >= 0 || !object->is_elf);
    return is_sure ? (uint32_t)*number : 0;
}

static bool open_mapping(const struct sn_object_mapping *mapping, struct sn_object_file *ret_file)
{
    const struct sn_object_place place = {.pid = mapping->pid,
                                          .path = mapping->path,
                                          .start = mapping->start,
                                          .end = mapping->end,
                                          .device = mapping->device,
                                          .inode = mapping->inode};
    if (strcmp(mapping->path, "[vdso]") == 0)
        return mapping->start > UINT32_MAX && /* a 32-bit process has another */
               sn_object_file_open_vdso(ret_file);
    return !is_no_file(mapping->path) && sn_object_file_open(&place, ret_file);
}

uint32_t sn_objects_add(struct sn_objects *objects, const struct sn_object_mapping *mapping)
{
    struct sn_object_file file = {.fd = -1};
    uint64_t key = mapping_key(mapping);
    uint32_t number = find_mapping(objects, mapping, key);
    if (number || !open_mapping(mapping, &file))
        return number;
    number = find_file(objects, &file);
    if (number)
        sn_object_file_close(&file);
    else
        number = add_file(objects, mapping, &file);
    uint64_t *slot = number && mapping->inode ? sn_table_put(&objects->by_mapping, key) : NULL;
    if (slot)
        *slot = number;
    return number;
}

bool sn_objects_facts(struct sn_objects *objects, uint32_t object,
                      struct sn_object_facts *ret_facts)
{
    const struct object *item = object_at(objects, object);
    if (!item)
        return false;
    *ret_facts = (struct sn_object_facts){.path = item->path,
                                          .name = item->name,
                                          .is_elf = item->is_elf,
                                          .build_id_size = item->elf.build_id_size,
                                          .load_vaddr = item->elf.code[0].vaddr,
                                          .load_offset = item->elf.code[0].offset,
                                          .debug_link = item->elf.debug_link};
    memcpy(ret_facts->build_id, item->elf.build_id, sizeof(item->elf.build_id));
    return true;
}

/* Mappings begin with a page, before the first byte of their segment: what lies there is taken for
 * the segment that ends before it. */
uint64_t sn_objects_vaddr(struct sn_objects *objects, uint32_t object, uint64_t file_offset)
{
    const struct object *item = object_at(objects, object);
    const struct sn_elf *elf = item ? &item->elf : NULL;
    const struct sn_elf_segment *chosen = elf && elf->code_count ? &elf->code[0] : NULL;
    for (uint32_t i = 1; chosen && i < elf->code_count; i++) {
        const struct sn_elf_segment *segment = &elf->code[i];
        bool is_later = segment->offset > chosen->offset || chosen->offset > file_offset;
        if (segment->offset <= file_offset && is_later)
            chosen = segment;
    }
    return chosen ? file_offset + (chosen->vaddr - chosen->offset) : file_offset;
}

/* ---- symbols ---- */

/* The debug file of a file without a build id must have the checksum that the file wants. */
static bool has_debug(struct sn_objects *objects, uint32_t number)
{
    struct object *object = object_at(objects, number);
    struct sn_object_file *debug = &object->files[FILE_DEBUG];
    if (!debug->place.path)
        return false;
    if (!object->debug_needs_crc)
        return true;
    object->debug_needs_crc = false;
    if (wake(objects, number, FILE_DEBUG) && sn_object_debug_has_crc(debug, object->elf.debug_crc))
        return true;
    objects->open_count -= debug->fd >= 0;
    sn_object_file_close(debug);
    debug->place.path = NULL;
    return false;
}

static void add_table(struct sn_symbol_tables *tables, struct reading *reading,
                      const struct sn_elf_symbols *symbols)
{
    if (symbols->count)
        tables->items[tables->count++] = (struct sn_symbol_table){{read_object, reading}, *symbols};
}

static void search(struct sn_objects *objects, uint32_t number, const uint64_t *vaddrs,
                   size_t count, sn_symbol_found_fn *found, void *user)
{
    const struct object *object = object_at(objects, number);
    struct reading own = {objects, number, FILE_OWN};
    struct reading debug = {objects, number, FILE_DEBUG};
    if (!object || !object->is_elf)
        return;
    struct sn_symbol_tables tables = {.elf = &object->elf, .file = {read_object, &own}};
    add_table(&tables, &own, &object->elf.all);
    if (has_debug(objects, number))
        add_table(&tables, &debug, &object->debug_symbols);
    add_table(&tables, &own, &object->elf.exported);
    sn_symbol_search(&tables, vaddrs, count, found, user);
}

/* Who waits for readable symbols. */
struct listener {
    sn_objects_found_fn *found;
    void *user;
};

static void pass_on(void *user, const struct sn_symbol_answer *answer)
{
    const struct listener *listener = user;
    char name[READABLE_SIZE];
    const struct sn_object_symbol symbol = {answer->start, answer->size,
                                            sn_demangle(answer->name, name, sizeof(name))};
    listener->found(listener->user, &symbol);
}

void sn_objects_symbols(struct sn_objects *objects, uint32_t object, const uint64_t *vaddrs,
                        size_t count, sn_objects_found_fn *found, void *user)
{
    struct listener listener = {found, user};
    search(objects, object, vaddrs, count, pass_on, &listener);
}

struct memory {
    struct sn_symbol_cache *cache;
    uint32_t object;
};

static void remember(void *user, const struct sn_symbol_answer *answer)
{
    const struct memory *memory = user;
    char name[READABLE_SIZE];
    sn_symbol_cache_put(memory->cache, memory->object, answer,
                        sn_demangle(answer->name, name, sizeof(name)));
}

bool sn_objects_symbol(struct sn_objects *objects, uint32_t object, uint64_t vaddr,
                       struct sn_object_symbol *ret_symbol)
{
    struct memory memory = {&objects->cache, object};
    const struct sn_symbol_answer *answer = sn_symbol_cache_find(&objects->cache, object, vaddr);
    if (!answer) {
        const struct sn_symbol_answer none = {.from = vaddr, .until = vaddr + 1};
        search(objects, object, &vaddr, 1, remember, &memory);
        answer = sn_symbol_cache_find(&objects->cache, object, vaddr);
        if (!answer)
            sn_symbol_cache_put(&objects->cache, object, &none, "");
    }
    if (!answer || !answer->size)
        return false;
    *ret_symbol = (struct sn_object_symbol){answer->start, answer->size, answer->name};
    return true;
}

bool sn_objects_cfi(struct sn_objects *objects, uint32_t object, uint64_t vaddr,
                    struct sn_cfi_row *ret_row)
{
    const struct object *item = object_at(objects, object);
    struct reading own = {objects, object, FILE_OWN};
    if (!item || !item->elf.eh_frame_size)
        return false;
    const struct sn_eh_frame frame = sn_symbol_eh_frame(&item->elf);
    return sn_eh_frame_row(&(struct sn_read_at){read_object, &own}, &frame, vaddr, ret_row);
}

int sn_objects_debug_fd(struct sn_objects *objects, uint32_t object)
{
    const struct object *item = object_at(objects, object);
    if (!item)
        return -1;
    if (item->elf.has_debug_info && wake(objects, object, FILE_OWN))
        return item->files[FILE_OWN].fd;
    if (item->debug_has_info && has_debug(objects, object) && wake(objects, object, FILE_DEBUG))
        return item->files[FILE_DEBUG].fd;
    return -1;
}
