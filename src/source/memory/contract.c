/* The runtime's description of itself: header, JSON, names to numbers. */
#include "source/memory/contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/own.h"
#include "base/table.h"
#include "base/text.h"
#include "source/memory/memory.h"
#include "symbol/name_pool.h"

#define JSON_MAX     (1u << 20) /* 10.0's has 11 KB */
#define POINTERS_MAX 4096u
#define ENTRIES_MAX  16384u
#define NAME_SIZE    256u
#define FLAGS_64_BIT 1u

static const char magic[8] = "DNCCDAC"; /* with its zero */

/* As it lies in the target; 64-bit, little-endian. */
struct header {
    char magic[8];
    uint32_t flags;
    uint32_t json_size;
    uint64_t json;
    uint32_t pointer_count;
    uint32_t pad;
    uint64_t pointers;
};

enum entry_kind {
    ENTRY_OFFSET,   /* "Thread.OSId"; the size of a type is its field "!" */
    ENTRY_NUMBER,   /* "=MethodDescAlignment" */
    ENTRY_ADDRESS,  /* "=ThreadStore" */
    ENTRY_CONTRACT, /* "#Thread" */
};

struct entry {
    const char *name; /* in the pool */
    uint64_t value;
    uint8_t kind; /* enum entry_kind */
};

struct sn_contract {
    struct entry *entries; /* owns */
    size_t count;
    size_t capacity;
    struct sn_table index; /* hash of the name -> number of the entry, from 1 */
    struct sn_name_pool names;
    char missing[NAME_SIZE];
};

int sn_contract_new(struct sn_contract **ret_contract, struct sonde_error *err)
{
    struct sn_contract *contract = calloc(1, sizeof(*contract));
    if (!contract)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a runtime's contract");
    contract->index = sn_table_with_limit(ENTRIES_MAX);
    sn_name_pool_init(&contract->names);
    *ret_contract = contract;
    return SONDE_OK;
}

void sn_contract_free(struct sn_contract *contract)
{
    if (!contract)
        return;
    sn_table_done(&contract->index);
    sn_name_pool_done(&contract->names);
    free(contract->entries);
    free(contract);
}

/* --- entries --- */

static const struct entry *find(const struct sn_contract *contract, const char *name)
{
    const uint64_t *slot = sn_table_find(&contract->index, sn_table_key(name, strlen(name)));
    const struct entry *entry = slot ? &contract->entries[*slot - 1] : NULL;
    return entry && strcmp(entry->name, name) == 0 ? entry : NULL;
}

/* What is there stays: the runtime's own word comes first. */
static bool add(struct sn_contract *contract, const char *name, uint8_t kind, uint64_t value)
{
    struct entry *entries =
        sn_array_room(contract->entries, contract->count, &contract->capacity, sizeof(*entries));
    if (!entries)
        return false;
    contract->entries = entries;
    uint64_t *slot = sn_table_put(&contract->index, sn_table_key(name, strlen(name)));
    if (!slot)
        return false;
    if (*slot)
        return true;
    const char *kept = sn_name_pool_keep(&contract->names, name, strlen(name));
    if (!kept)
        return false;
    entries[contract->count] = (struct entry){.name = kept, .value = value, .kind = kind};
    *slot = ++contract->count;
    return true;
}

/* --- JSON --- */

struct parse {
    struct sn_contract *contract;
    struct sn_json_reader reader;
    const uint64_t *pointers;
    size_t pointer_count;
};

static bool next(struct parse *parse)
{
    return sn_json_read_next(&parse->reader);
}

/* Passes over the rest of what is open above `depth`. */
static bool skip_to(struct parse *parse, unsigned depth)
{
    while (parse->reader.depth > depth) {
        if (!next(parse))
            return false;
    }
    return true;
}

static bool number_of(const char *text, uint64_t *ret_value)
{
    return sn_text_to_u64(text, UINT64_MAX, ret_value);
}

/* A value that is a number, or an array that begins with one. Others are passed over. */
static bool read_offset(struct parse *parse, const char *name, uint8_t kind)
{
    uint64_t value;
    unsigned depth = parse->reader.depth;
    if (!next(parse))
        return false;
    if (parse->reader.kind == SN_JSON_ARRAY && !next(parse))
        return false;
    bool is_told = (parse->reader.kind == SN_JSON_PLAIN || parse->reader.kind == SN_JSON_TEXT) &&
                   number_of(parse->reader.text, &value) && value < SN_CONTRACT_NONE;
    if (!skip_to(parse, depth))
        return false;
    return !is_told || add(parse->contract, name, kind, value);
}

/* "[[index], type]" : the address of a variable. */
static bool read_address(struct parse *parse, const char *name)
{
    uint64_t index;
    if (!next(parse))
        return false;
    if (parse->reader.kind != SN_JSON_PLAIN || !number_of(parse->reader.text, &index) ||
        index >= parse->pointer_count || !parse->pointers[index])
        return true;
    return add(parse->contract, name, ENTRY_ADDRESS, parse->pointers[index]);
}

/* A literal, "[literal, type]", or an address. */
static bool read_global(struct parse *parse, const char *name)
{
    uint64_t value;
    unsigned depth = parse->reader.depth;
    if (!next(parse) || (parse->reader.kind == SN_JSON_ARRAY && !next(parse)))
        return false;
    bool is_good = true;
    if (parse->reader.kind == SN_JSON_ARRAY)
        is_good = read_address(parse, name);
    else if ((parse->reader.kind == SN_JSON_PLAIN || parse->reader.kind == SN_JSON_TEXT) &&
             number_of(parse->reader.text, &value))
        is_good = add(parse->contract, name, ENTRY_NUMBER, value);
    return is_good && skip_to(parse, depth);
}

typedef bool member_fn(struct parse *parse, const char *name);

/* Calls `take` for each member of the object that comes next, with `prefix` before its name. */
static bool read_members(struct parse *parse, const char *prefix, member_fn *take)
{
    char name[NAME_SIZE];
    if (!next(parse))
        return false;
    if (parse->reader.kind != SN_JSON_OBJECT)
        return parse->reader.kind != SN_JSON_ARRAY || skip_to(parse, parse->reader.depth - 1);
    unsigned depth = parse->reader.depth;
    while (next(parse) && parse->reader.kind == SN_JSON_NAME) {
        int length = snprintf(name, sizeof(name), "%s%s", prefix, parse->reader.text);
        if (length < 0 || (size_t)length >= sizeof(name) || !take(parse, name))
            return false;
    }
    return !parse->reader.is_bad && parse->reader.depth < depth;
}

static bool read_field(struct parse *parse, const char *name)
{
    return read_offset(parse, name, ENTRY_OFFSET);
}

static bool read_type(struct parse *parse, const char *name)
{
    char prefix[NAME_SIZE];
    int length = snprintf(prefix, sizeof(prefix), "%s.", name);
    return length > 0 && (size_t)length < sizeof(prefix) && read_members(parse, prefix, read_field);
}

static bool read_version(struct parse *parse, const char *name)
{
    return read_offset(parse, name, ENTRY_CONTRACT);
}

static bool read_part(struct parse *parse, const char *name)
{
    if (strcmp(name, "types") == 0)
        return read_members(parse, "", read_type);
    if (strcmp(name, "globals") == 0)
        return read_members(parse, "=", read_global);
    if (strcmp(name, "contracts") == 0)
        return read_members(parse, "#", read_version);
    unsigned depth = parse->reader.depth;
    return next(parse) && skip_to(parse, depth);
}

int sn_contract_add(struct sn_contract *contract, const char *json, size_t size,
                    const uint64_t *pointers, size_t pointer_count, struct sonde_error *err)
{
    struct parse parse = {.contract = contract,
                          .reader = sn_json_reader_of(json, size),
                          .pointers = pointers,
                          .pointer_count = pointer_count};
    if (!read_members(&parse, "", read_part))
        return sn_fail(err, SONDE_E_FORMAT, (uint64_t)(parse.reader.at - json),
                       "the runtime's description of itself cannot be read");
    return SONDE_OK;
}

/* --- the descriptor --- */

static int read_header(struct sn_memory *memory, uint64_t address, struct header *ret_header,
                       struct sonde_error *err)
{
    if (!sn_memory_read(memory, address, ret_header, sizeof(*ret_header)) ||
        memcmp(ret_header->magic, magic, sizeof(magic)) != 0)
        return sn_fail(err, SONDE_E_FORMAT, address,
                       "what the runtime exports as its description is none");
    if (!(ret_header->flags & FLAGS_64_BIT) || ret_header->json_size > JSON_MAX ||
        ret_header->pointer_count > POINTERS_MAX)
        return sn_fail(err, SONDE_E_FORMAT, address,
                       "the runtime's description of itself is of an unknown kind");
    return SONDE_OK;
}

static int read_parts(struct sn_memory *memory, const struct header *header,
                      struct sn_contract *contract, struct sonde_error *err)
{
    size_t table_size = header->pointer_count * sizeof(uint64_t);
    SN_AUTO(sn_free) char *json = malloc((size_t)header->json_size + 1);
    SN_AUTO(sn_free) uint64_t *pointers = malloc(table_size + sizeof(uint64_t));
    if (!json || !pointers)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a runtime's contract");
    if (!sn_memory_read(memory, header->json, json, header->json_size) ||
        (table_size && !sn_memory_read(memory, header->pointers, pointers, table_size)))
        return sn_fail(err, SONDE_E_FORMAT, header->json,
                       "the runtime's description of itself cannot be read");
    return sn_contract_add(contract, json, header->json_size, pointers, header->pointer_count, err);
}

int sn_contract_read(struct sn_memory *memory, uint64_t address, struct sn_contract **ret_contract,
                     struct sonde_error *err)
{
    struct header header;
    SN_AUTO(sn_contract_free) struct sn_contract *contract = NULL;
    int rc = read_header(memory, address, &header, err);
    if (rc == SONDE_OK)
        rc = sn_contract_new(&contract, err);
    if (rc == SONDE_OK)
        rc = read_parts(memory, &header, contract, err);
    if (rc == SONDE_OK)
        *ret_contract = SN_TAKE(contract);
    return rc;
}

/* --- asking --- */

static bool ask(const struct sn_contract *contract, const char *prefix, const char *first,
                const char *second, uint8_t kind, uint64_t *ret_value)
{
    char name[NAME_SIZE];
    int length =
        snprintf(name, sizeof(name), "%s%s%s%s", prefix, first, *second ? "." : "", second);
    const struct entry *entry =
        length > 0 && (size_t)length < sizeof(name) ? find(contract, name) : NULL;
    if (!entry || entry->kind != kind)
        return false;
    *ret_value = entry->value;
    return true;
}

uint32_t sn_contract_version(const struct sn_contract *contract, const char *name)
{
    uint64_t value;
    return ask(contract, "#", name, "", ENTRY_CONTRACT, &value) ? (uint32_t)value : 0;
}

bool sn_contract_offset(const struct sn_contract *contract, const char *type, const char *field,
                        uint32_t *ret_offset)
{
    uint64_t value;
    if (!ask(contract, "", type, field, ENTRY_OFFSET, &value))
        return false;
    *ret_offset = (uint32_t)value;
    return true;
}

bool sn_contract_number(const struct sn_contract *contract, const char *name, uint64_t *ret_value)
{
    return ask(contract, "=", name, "", ENTRY_NUMBER, ret_value);
}

bool sn_contract_address(const struct sn_contract *contract, const char *name,
                         uint64_t *ret_address)
{
    return ask(contract, "=", name, "", ENTRY_ADDRESS, ret_address);
}

bool sn_contract_bind(struct sn_contract *contract, const struct sn_contract_want *wants,
                      size_t count, void *to, const char **ret_missing)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t offset = SN_CONTRACT_NONE;
        if (!sn_contract_offset(contract, wants[i].type, wants[i].field, &offset) &&
            !wants[i].is_optional) {
            (void)snprintf(contract->missing, sizeof(contract->missing), "%s.%s", wants[i].type,
                           wants[i].field);
            *ret_missing = contract->missing;
            return false;
        }
        memcpy((char *)to + wants[i].at, &offset, sizeof(offset));
    }
    return true;
}
