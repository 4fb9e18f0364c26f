/* Types as .NET 8 has them, where that differs: the module of what is generic, tokens, and counts
 * of fields that lie behind a class, packed or not. */
#include <string.h>

#include "source/memory/contract.h"
#include "source/memory/type_system_internal.h"

/* A MethodTable's optional slots: which it has is in its second flags, and where one lies follows
 * from those that come before it. The first two lie in fixed places. */
#define HAS_ARGUMENTS   0x0001u
#define HAS_INTERFACES  0x0002u
#define BEFORE_MODULE   0x000Fu
#define HAS_MODULE      0x0010u
#define FIXED_SLOTS     2u
#define TABLE_SIZE      64u
#define SLOTS_PER_PIECE 8u /* of virtual methods, which a pointer stands for */
#define TOKEN_ELSEWHERE 0xFFFFu
#define FLAG_ELEMENTS   0x80000000u
#define FLAG_GENERIC    0x00000030u

/* The numbers behind a class: each a word, or packed one after another, each as its length in five
 * bits (less one) and as many bits. */
#define COUNTS         11u
#define COUNT_INSTANCE 0u
#define COUNT_STATIC   2u
#define LENGTH_BITS    5u
#define COUNTS_BITS    (COUNTS * 32u)

/* --- the module that defines a type --- */

static uint32_t bits_set(uint32_t value)
{
    return (uint32_t)__builtin_popcount(value);
}

/* Where the slot with the module is, in a MethodTable with such flags. */
static uint64_t module_slot(const struct sn_type_system *types, uint64_t table, uint32_t flags2,
                            uint16_t virtuals)
{
    uint32_t before = flags2 & BEFORE_MODULE;
    uint32_t index = bits_set(before);
    if ((before & (HAS_ARGUMENTS | HAS_INTERFACES)) == HAS_INTERFACES && index == 1)
        index = 0; /* the first is free and not the second */
    if (index < FIXED_SLOTS)
        return table + types->at.mt_inst + 8ull * index;
    uint64_t pieces = ((uint64_t)virtuals + SLOTS_PER_PIECE - 1) / SLOTS_PER_PIECE;
    return table + TABLE_SIZE + 8 * pieces + 8ull * (index - FIXED_SLOTS);
}

bool sn_types_fix_old(struct sn_type_system *types, uint64_t address, struct sn_method_table *table)
{
    const struct sn_type_offsets *at = &types->at;
    struct sn_memory *memory = types->memory;
    uint16_t token = 0;
    uint16_t flags2 = 0;
    uint16_t virtuals = 0;
    uint64_t definer = sn_method_table_is_array(table) ? address : table->canonical;
    if (!sn_memory_u16(memory, address + at->mt_token, &token))
        return false;
    if (token == TOKEN_ELSEWHERE)
        return false; /* no module is known that has as many types */
    table->flags2 = (uint32_t)token << 8;
    if (!(table->flags & (FLAG_ELEMENTS | FLAG_GENERIC)))
        return true;
    if (!sn_memory_u16(memory, definer + at->mt_flags2, &flags2) ||
        !sn_memory_u16(memory, definer + at->mt_virtuals, &virtuals))
        return false;
    uint64_t slot = flags2 & HAS_MODULE ? module_slot(types, definer, flags2, virtuals)
                                        : definer + at->mt_module;
    return sn_memory_u64(memory, slot, &table->module) && !(table->module & 7);
}

/* --- counts of fields --- */

static uint32_t bits_at(const uint32_t words[COUNTS], uint32_t at, uint32_t length)
{
    uint64_t pair = words[at / 32];
    if (at / 32 + 1 < COUNTS)
        pair |= (uint64_t)words[at / 32 + 1] << 32;
    return (uint32_t)((pair >> (at % 32)) & (((uint64_t)1 << length) - 1));
}

/* False: they are longer than they can be. */
static bool unpack(const uint32_t packed[COUNTS], uint32_t counts[COUNTS])
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < COUNTS; i++) {
        if (at + LENGTH_BITS > COUNTS_BITS)
            return false;
        uint32_t length = bits_at(packed, at, LENGTH_BITS) + 1;
        at += LENGTH_BITS;
        if (at + length > COUNTS_BITS)
            return false;
        counts[i] = bits_at(packed, at, length);
        at += length;
    }
    return true;
}

/* Packed ones may end before as many bytes are there as the others need. */
static bool read_counts(struct sn_type_system *types, uint64_t clazz, uint32_t counts[COUNTS])
{
    uint32_t words[COUNTS] = {0};
    uint8_t is_packed = 0;
    uint8_t size = 0;
    if (!sn_memory_u8(types->memory, clazz + types->at.class_packed, &is_packed) ||
        !sn_memory_u8(types->memory, clazz + types->at.class_size, &size))
        return false;
    for (uint32_t i = 0; i < COUNTS; i++) {
        if (!sn_memory_u32(types->memory, clazz + size + 4ull * i, &words[i]) && !is_packed)
            return false;
    }
    if (is_packed)
        return unpack(words, counts);
    memcpy(counts, words, sizeof(words));
    return true;
}

bool sn_types_field_counts(struct sn_type_system *types, uint64_t clazz, uint16_t *ret_instance,
                           uint16_t *ret_static)
{
    const struct sn_type_offsets *at = &types->at;
    uint32_t counts[COUNTS];
    if (at->class_instance != SN_CONTRACT_NONE && at->class_static != SN_CONTRACT_NONE)
        return sn_memory_u16(types->memory, clazz + at->class_instance, ret_instance) &&
               sn_memory_u16(types->memory, clazz + at->class_static, ret_static);
    if (at->class_packed == SN_CONTRACT_NONE || at->class_size == SN_CONTRACT_NONE ||
        !read_counts(types, clazz, counts) || counts[COUNT_INSTANCE] > UINT16_MAX ||
        counts[COUNT_STATIC] > UINT16_MAX)
        return false;
    *ret_instance = (uint16_t)counts[COUNT_INSTANCE];
    *ret_static = (uint16_t)counts[COUNT_STATIC];
    return true;
}
