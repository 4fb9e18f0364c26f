#include "sink/aggregate/type_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/text.h"
#include "symbol/names.h"

#define NAME_LIMIT 16384u
#define SIZE_LIMIT 8192u /* bytes of UTF-16; the rest of a longer name is cut off */
#define TEXT_LIMIT (64u << 10)
#define PROBE_MAX  8u /* names made to have one hash do not slow us down */

void sn_type_names_init(struct sn_type_names *names, struct sn_arena *arena)
{
    *names = (struct sn_type_names){.arena = arena,
                                    .by_hash = sn_table_with_limit(NAME_LIMIT),
                                    .text = sn_buf_with_limit(TEXT_LIMIT)};
}

void sn_type_names_done(struct sn_type_names *names)
{
    free(names->names);
    sn_table_done(&names->by_hash);
    sn_buf_done(&names->text);
}

struct sn_text16 sn_text16_read(struct sn_cursor *cur)
{
    struct sn_text16 text = {.units = cur->at};
    while (sn_cursor_u16(cur))
        text.size += (uint32_t)sizeof(uint16_t);
    return cur->bad ? (struct sn_text16){0} : text;
}

static uint64_t hash_of(struct sn_text16 text)
{
    uint64_t hash = text.size;
    for (uint32_t at = 0; at < text.size; at += (uint32_t)sizeof(uint16_t)) {
        uint16_t unit;
        memcpy(&unit, text.units + at, sizeof(unit));
        hash = (hash ^ unit) * 0x100000001B3u;
    }
    return hash;
}

static const char *keep_text(struct sn_type_names *names)
{
    const char *text = sn_buf_string(&names->text);
    const char *copy = sn_arena_copy(names->arena, text, strlen(text));
    sn_buf_clear(&names->text);
    return copy;
}

/* False without memory, or over the arena's limit. */
static bool keep(struct sn_type_names *names, struct sn_text16 text)
{
    struct sn_type_name name = {.key.size = text.size};
    name.key.units = (const uint8_t *)sn_arena_copy(names->arena, text.units, text.size);
    sn_text_from_utf16(&names->text, text.units, text.size / 2);
    name.type = keep_text(names);
    if (!name.key.units || !name.type)
        return false;
    sn_name_type(&names->text, name.type);
    name.name = keep_text(names);
    if (!name.name)
        return false;
    struct sn_type_name *list =
        sn_array_room(names->names, names->count, &names->capacity, sizeof(*list));
    if (!list)
        return false;
    names->names = list;
    list[names->count++] = name;
    return true;
}

static bool is_same(struct sn_text16 left, struct sn_text16 right)
{
    return left.size == right.size && memcmp(left.units, right.units, left.size) == 0;
}

uint32_t sn_type_names_number(struct sn_type_names *names, struct sn_text16 text)
{
    if (!text.size)
        return 0;
    if (text.size > SIZE_LIMIT)
        text.size = SIZE_LIMIT;
    uint64_t hash = hash_of(text);
    for (uint32_t probe = 0; probe < PROBE_MAX; probe++, hash++) {
        uint64_t *number = sn_table_put(&names->by_hash, hash);
        if (!number)
            return 0;
        if (*number && !is_same(names->names[*number - 1].key, text))
            continue;
        if (!*number && keep(names, text))
            *number = names->count;
        return (uint32_t)*number;
    }
    return 0;
}

struct sn_type_name sn_type_names_get(const struct sn_type_names *names, uint32_t number)
{
    static const struct sn_type_name other = {.type = "[other types]", .name = "[other types]"};
    return number ? names->names[number - 1] : other;
}
