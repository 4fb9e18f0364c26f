/* Bytes of another process: pages that are kept for a while, and its mappings. */
#include "source/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "source/memory/memory_internal.h"

#define PAGE_BITS  12u
#define PAGE_SIZE  (1u << PAGE_BITS)
#define PAGES_KEPT 96u
#define TEXT_UNITS 4096u /* the longest text that is read */

#define LOOK_EVERY_READ 16u   /* at the clock: of the process */
#define LOOK_EVERY_PEEK 1024u /* of pages that are kept */

/* A page that is kept; `round` says of which time. */
struct sn_memory_page {
    uint64_t address;
    uint64_t round; /* 0: never filled */
    uint32_t size;  /* how much of it could be read */
    uint8_t bytes[PAGE_SIZE];
};

int sn_memory_of_source(const struct sn_memory_source *source, const struct sn_memory_map *maps,
                        size_t map_count, struct sn_memory **ret_memory, struct sonde_error *err)
{
    SN_AUTO(sn_memory_free) struct sn_memory *memory = calloc(1, sizeof(*memory));
    if (!memory) {
        if (source->free)
            source->free(source->user);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for reading a process");
    }
    memory->source = *source;
    memory->round = 1;
    sn_name_pool_init(&memory->paths);
    for (size_t i = 0; i < map_count; i++) {
        if (!sn_memory_add_map(memory, &maps[i]))
            return sn_fail(err, SONDE_E_LIMIT, 0, "more mappings than %u", SN_MEMORY_MAPS_MAX);
    }
    *ret_memory = SN_TAKE(memory);
    return SONDE_OK;
}

void sn_memory_free(struct sn_memory *memory)
{
    if (!memory)
        return;
    if (memory->source.free)
        memory->source.free(memory->source.user);
    sn_name_pool_done(&memory->paths);
    free(memory->pages);
    free(memory->maps);
    free(memory);
}

/* --- bytes --- */

void sn_memory_set_deadline(struct sn_memory *memory, uint64_t deadline_ns)
{
    memory->deadline_ns = deadline_ns;
    memory->is_late = false;
}

bool sn_memory_is_late(const struct sn_memory *memory)
{
    return memory->is_late;
}

/* The clock costs as much as some reads of what is kept. */
static bool has_time(struct sn_memory *memory, unsigned every)
{
    if (memory->deadline_ns && !memory->is_late && ++memory->looks % every == 0)
        memory->is_late = sn_clock_monotonic_ns() > memory->deadline_ns;
    return !memory->is_late;
}

size_t sn_memory_read_now(struct sn_memory *memory, uint64_t address, void *to, size_t size)
{
    if (!size || address + size < address || !has_time(memory, LOOK_EVERY_READ))
        return 0;
    size_t got = memory->source.read(memory->source.user, address, to, size);
    return got < size ? got : size;
}

/* The page at `address`, read unless it is kept; NULL without memory. */
static const struct sn_memory_page *page_at(struct sn_memory *memory, uint64_t address)
{
    if (!memory->pages)
        memory->pages = calloc(PAGES_KEPT, sizeof(*memory->pages));
    if (!memory->pages)
        return NULL;
    struct sn_memory_page *page = &memory->pages[(address >> PAGE_BITS) % PAGES_KEPT];
    if (page->round == memory->round && page->address == address)
        return page;
    page->address = address;
    page->round = memory->round;
    page->size = (uint32_t)sn_memory_read_now(memory, address, page->bytes, PAGE_SIZE);
    return page;
}

/* Larger pieces would only push out what is asked for again and again. */
static bool is_large(size_t size)
{
    return size > PAGE_SIZE;
}

bool sn_memory_read(struct sn_memory *memory, uint64_t address, void *to, size_t size)
{
    uint8_t *at = to;
    if (address + size < address || !has_time(memory, LOOK_EVERY_PEEK))
        return false;
    if (is_large(size))
        return sn_memory_read_now(memory, address, to, size) == size;
    while (size) {
        uint64_t start = address & ~(uint64_t)(PAGE_SIZE - 1);
        size_t skip = (size_t)(address - start);
        const struct sn_memory_page *page = page_at(memory, start);
        if (!page || skip >= page->size)
            return false;
        size_t piece = page->size - skip < size ? page->size - skip : size;
        memcpy(at, page->bytes + skip, piece);
        if (piece < size && page->size < PAGE_SIZE)
            return false;
        at += piece;
        address += piece;
        size -= piece;
    }
    return true;
}

bool sn_memory_u8(struct sn_memory *memory, uint64_t address, uint8_t *ret_value)
{
    return sn_memory_read(memory, address, ret_value, sizeof(*ret_value));
}

bool sn_memory_u16(struct sn_memory *memory, uint64_t address, uint16_t *ret_value)
{
    return sn_memory_read(memory, address, ret_value, sizeof(*ret_value));
}

bool sn_memory_u32(struct sn_memory *memory, uint64_t address, uint32_t *ret_value)
{
    return sn_memory_read(memory, address, ret_value, sizeof(*ret_value));
}

bool sn_memory_u64(struct sn_memory *memory, uint64_t address, uint64_t *ret_value)
{
    return sn_memory_read(memory, address, ret_value, sizeof(*ret_value));
}

/* --- text --- */

/* Cuts at a whole character. */
static void copy_text(char *to, size_t size, struct sn_buf *text)
{
    size_t length = text->failed ? 0 : text->size;
    if (length >= size) {
        length = size - 1;
        while (length && (text->bytes[length] & 0xC0u) == 0x80u)
            length--;
    }
    if (length)
        memcpy(to, text->bytes, length);
    to[length] = '\0';
}

bool sn_memory_utf16(struct sn_memory *memory, uint64_t address, char *to, size_t size)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit((size_t)TEXT_UNITS * 3);
    SN_AUTO(sn_buf_done) struct sn_buf units = sn_buf_with_limit((size_t)TEXT_UNITS * 2);
    size_t most = size < TEXT_UNITS ? size : TEXT_UNITS;
    to[0] = '\0';
    for (size_t i = 0; i < most; i++) {
        uint16_t unit;
        if (!sn_memory_u16(memory, address + i * 2, &unit))
            return false;
        if (!unit)
            break;
        sn_buf_u16(&units, unit);
    }
    sn_text_from_utf16(&text, units.bytes, units.size / 2);
    copy_text(to, size, &text);
    return true;
}

bool sn_memory_utf8(struct sn_memory *memory, uint64_t address, char *to, size_t size)
{
    to[0] = '\0';
    for (size_t i = 0; i + 1 < size; i++) {
        if (!sn_memory_read(memory, address + i, to + i, 1))
            return false;
        if (!to[i])
            return true;
        to[i + 1] = '\0';
    }
    return true;
}

void sn_memory_forget(struct sn_memory *memory)
{
    memory->round++;
}

/* --- mappings --- */

bool sn_memory_add_map(struct sn_memory *memory, const struct sn_memory_map *map)
{
    if (memory->map_count >= SN_MEMORY_MAPS_MAX || map->end <= map->start)
        return map->end <= map->start;
    if (memory->map_count && memory->maps[memory->map_count - 1].end > map->start)
        return true; /* over another one: not what a kernel tells */
    struct sn_memory_map *maps =
        sn_array_room(memory->maps, memory->map_count, &memory->map_capacity, sizeof(*maps));
    if (!maps)
        return false;
    memory->maps = maps;
    maps[memory->map_count] = *map;
    maps[memory->map_count++].path =
        sn_name_pool_bytes(&memory->paths, map->path, strlen(map->path));
    return true;
}

size_t sn_memory_map_count(const struct sn_memory *memory)
{
    return memory->map_count;
}

const struct sn_memory_map *sn_memory_map_at(const struct sn_memory *memory, size_t index)
{
    return index < memory->map_count ? &memory->maps[index] : NULL;
}

const struct sn_memory_map *sn_memory_map_of(const struct sn_memory *memory, uint64_t address)
{
    size_t index =
        sn_array_first(memory->maps, memory->map_count, sizeof(*memory->maps), address + 1);
    if (!index)
        return NULL;
    const struct sn_memory_map *map = &memory->maps[index - 1];
    return address >= map->start && address < map->end ? map : NULL;
}

uint32_t sn_memory_pid(const struct sn_memory *memory)
{
    return memory->pid;
}
