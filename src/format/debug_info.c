#include "format/debug_info.h"

#include <string.h>

enum {
    HAS_PATCHPOINT = 1, /* flags of the prefix: what comes before the rest */
    HAS_RICH = 2,
    LOCALS_BITS = 16, /* in what patchpoints have: offset of the count of locals, by the form */
    LOCALS_NIBBLES = 8,
    BEHIND_LOCALS = 24, /* from there to the locals, of four bytes each */
    SOURCE_BITS = 2,
};

#define LOCALS_MAX       (1u << 16)
#define RICH_MAX         (1u << 24)
#define PART_MAX         (1u << 24) /* bytes of the bounds */
#define BOTH_BOUNDS      UINT32_MAX /* in place of a size: two sizes follow */
#define IL_BIAS          SN_IL_EPILOG
#define NIBBLES_OF_VALUE 11u

/* Values of three bits a nibble, the highest first; the fourth bit says that more follow. */
struct nibbles {
    const uint8_t *bytes;
    size_t size;
    uint64_t at; /* in nibbles, the lower one of a byte first */
    bool is_cut;
    bool is_bad;
};

static uint32_t read_value(struct nibbles *nibbles)
{
    uint64_t value = 0;
    for (unsigned count = 0; count < NIBBLES_OF_VALUE; count++) {
        if (nibbles->at / 2 >= nibbles->size) {
            nibbles->is_cut = true;
            return 0;
        }
        unsigned byte = nibbles->bytes[nibbles->at / 2];
        unsigned nibble = byte >> (4 * (nibbles->at % 2)) & 15u;
        nibbles->at++;
        value = value << 3 | (nibble & 7u);
        if (value > UINT32_MAX)
            break;
        if (!(nibble & 8u))
            return (uint32_t)value;
    }
    nibbles->is_bad = true;
    return 0;
}

static int result_of(const struct nibbles *nibbles)
{
    return nibbles->is_bad   ? SN_DEBUG_INFO_BAD
           : nibbles->is_cut ? SN_DEBUG_INFO_CUT
                             : SN_DEBUG_INFO_OPEN;
}

/* Skips `more` of `size` bytes; false: they are not all there. */
static bool skip(const uint8_t **bytes, size_t *size, size_t more)
{
    if (more > *size)
        return false;
    *bytes += more;
    *size -= more;
    return true;
}

static int skip_patchpoint(const uint8_t **bytes, size_t *size, unsigned form)
{
    uint32_t locals;
    size_t at = form == SN_DEBUG_INFO_BITS ? LOCALS_BITS : LOCALS_NIBBLES;
    if (*size < at + BEHIND_LOCALS)
        return SN_DEBUG_INFO_CUT;
    memcpy(&locals, *bytes + at, sizeof(locals));
    if (locals > LOCALS_MAX)
        return SN_DEBUG_INFO_BAD;
    return skip(bytes, size, at + BEHIND_LOCALS + (size_t)locals * 4) ? SN_DEBUG_INFO_OPEN
                                                                      : SN_DEBUG_INFO_CUT;
}

static int skip_rich(const uint8_t **bytes, size_t *size)
{
    uint32_t rich;
    if (*size < sizeof(rich))
        return SN_DEBUG_INFO_CUT;
    memcpy(&rich, *bytes, sizeof(rich));
    if (rich > RICH_MAX)
        return SN_DEBUG_INFO_BAD;
    return skip(bytes, size, sizeof(rich) + rich) ? SN_DEBUG_INFO_OPEN : SN_DEBUG_INFO_CUT;
}

static int skip_prefix(const uint8_t **bytes, size_t *size, unsigned form)
{
    if (!*size)
        return SN_DEBUG_INFO_CUT;
    unsigned flags = **bytes;
    if (flags & ~(unsigned)(HAS_PATCHPOINT | HAS_RICH))
        return SN_DEBUG_INFO_BAD;
    (void)skip(bytes, size, 1);
    int result = flags & HAS_PATCHPOINT ? skip_patchpoint(bytes, size, form) : SN_DEBUG_INFO_OPEN;
    if (result == SN_DEBUG_INFO_OPEN && flags & HAS_RICH)
        result = skip_rich(bytes, size);
    return result;
}

/* The sizes of the parts; where code was instrumented there are two kinds of bounds, and those of
 * the code as it is come first. */
static int find_bounds(const uint8_t *bytes, size_t size, struct sn_debug_info_kind kind,
                       struct sn_debug_bounds *bounds)
{
    struct nibbles head = {.bytes = bytes, .size = size};
    uint32_t bounds_size = read_value(&head);
    if (kind.form == SN_DEBUG_INFO_BITS && bounds_size == BOTH_BOUNDS) {
        bounds_size = read_value(&head);
        (void)read_value(&head);
    }
    (void)read_value(&head); /* of the variables */
    if (head.is_bad || head.is_cut)
        return result_of(&head);
    if (!bounds_size)
        return SN_DEBUG_INFO_EMPTY;
    if (bounds_size > PART_MAX)
        return SN_DEBUG_INFO_BAD;
    (void)skip(&bytes, &size, (size_t)((head.at + 1) / 2));
    if (bounds_size > size)
        return SN_DEBUG_INFO_CUT;
    *bounds =
        (struct sn_debug_bounds){.bytes = bytes, .size = bounds_size, .form = (uint8_t)kind.form};
    return SN_DEBUG_INFO_OPEN;
}

static bool open_bits(struct sn_debug_bounds *bounds, struct nibbles *head)
{
    uint32_t delta_bits = read_value(head);
    uint32_t il_bits = read_value(head);
    if (head->is_bad || head->is_cut || delta_bits > 31 || il_bits > 31)
        return false;
    bounds->delta_bits = (uint8_t)(delta_bits + 1);
    bounds->il_bits = (uint8_t)(il_bits + 1);
    head->at += head->at % 2;
    uint64_t entry = (uint64_t)SOURCE_BITS + bounds->delta_bits + bounds->il_bits;
    return bounds->left * entry <= bounds->size * UINT64_C(8) - head->at * 4;
}

int sn_debug_info_open(const uint8_t *bytes, size_t size, struct sn_debug_info_kind kind,
                       struct sn_debug_bounds *ret_bounds)
{
    *ret_bounds = (struct sn_debug_bounds){0};
    int result = kind.has_prefix ? skip_prefix(&bytes, &size, kind.form) : SN_DEBUG_INFO_OPEN;
    if (result == SN_DEBUG_INFO_OPEN)
        result = find_bounds(bytes, size, kind, ret_bounds);
    if (result != SN_DEBUG_INFO_OPEN)
        return result;
    struct nibbles head = {.bytes = ret_bounds->bytes, .size = ret_bounds->size};
    ret_bounds->left = read_value(&head);
    if (head.is_bad || head.is_cut || ret_bounds->left > SN_DEBUG_BOUNDS_MAX)
        return SN_DEBUG_INFO_BAD;
    if (kind.form == SN_DEBUG_INFO_BITS && !open_bits(ret_bounds, &head))
        return SN_DEBUG_INFO_BAD;
    ret_bounds->bit = head.at * 4;
    return SN_DEBUG_INFO_OPEN;
}

/* `count` bits, at most 32, the lowest first; they are there. */
static uint32_t read_bits(struct sn_debug_bounds *bounds, unsigned count)
{
    uint64_t value = 0;
    size_t first = (size_t)(bounds->bit / 8);
    unsigned shift = (unsigned)(bounds->bit % 8);
    for (unsigned i = 0; i * 8 < shift + count; i++)
        value |= (uint64_t)bounds->bytes[first + i] << (8 * i);
    bounds->bit += count;
    return (uint32_t)(value >> shift & ((UINT64_C(1) << count) - 1));
}

static void next_of_bits(struct sn_debug_bounds *bounds, struct sn_debug_bound *bound)
{
    (void)read_bits(bounds, SOURCE_BITS);
    bound->native = read_bits(bounds, bounds->delta_bits);
    bound->il = read_bits(bounds, bounds->il_bits) + IL_BIAS;
}

static bool next_of_nibbles(struct sn_debug_bounds *bounds, struct sn_debug_bound *bound)
{
    struct nibbles nibbles = {.bytes = bounds->bytes, .size = bounds->size, .at = bounds->bit / 4};
    bound->native = read_value(&nibbles);
    bound->il = read_value(&nibbles) + IL_BIAS;
    (void)read_value(&nibbles); /* why the JIT told of it */
    bounds->bit = nibbles.at * 4;
    return !nibbles.is_bad && !nibbles.is_cut;
}

bool sn_debug_bounds_next(struct sn_debug_bounds *bounds, struct sn_debug_bound *ret_bound)
{
    *ret_bound = (struct sn_debug_bound){0};
    if (!bounds->left)
        return false;
    bounds->left--;
    if (bounds->form == SN_DEBUG_INFO_BITS)
        next_of_bits(bounds, ret_bound);
    else if (!next_of_nibbles(bounds, ret_bound))
        ret_bound->native = UINT32_MAX;
    if (ret_bound->native > UINT32_MAX - 1 - bounds->native) { /* broken, or it wraps */
        bounds->left = 0;
        return false;
    }
    bounds->native += ret_bound->native;
    ret_bound->native = bounds->native;
    return true;
}

bool sn_debug_bounds_find(struct sn_debug_bounds bounds, uint32_t native, uint32_t *ret_il)
{
    bool is_found = false;
    struct sn_debug_bound bound;
    *ret_il = 0;
    while (sn_debug_bounds_next(&bounds, &bound) && bound.native <= native) {
        /* code of no line of its own follows what it was made for */
        if (bound.il == SN_IL_NO_MAPPING || bound.il == SN_IL_EPILOG)
            continue;
        *ret_il = bound.il == SN_IL_PROLOG ? 0 : bound.il;
        is_found = true;
    }
    return is_found;
}
