#include "symbol/leaf.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "format/eh_frame.h"
#include "symbol/objects.h"

#define STEPS_MAX   118u  /* frames that are followed */
#define GAPS_MAX    8u    /* callers put back further up */
#define CACHE_SLOTS 2048u /* a power of two */

_Static_assert(STEPS_MAX + 2 + GAPS_MAX <= SN_LEAF_MORE, "all that is put in has room");

/* The rule at a place, as it was found. */
struct slot {
    uint64_t offset; /* in the file */
    uint32_t object; /* 0: the slot is free */
    int32_t cfa_offset;
    int32_t rbp_offset;
    uint8_t base; /* SN_CFA_UNKNOWN also when there is no rule */
    uint8_t rbp;
};

struct sn_leaf {
    struct sn_objects *objects; /* borrows */
    struct slot slots[CACHE_SLOTS];
};

/* What code with frame pointers keeps to between its prologue and its end. */
static const struct slot by_frame_pointer = {
    .base = SN_CFA_RBP, .cfa_offset = 16, .rbp = SN_RBP_SAVED, .rbp_offset = -16};

/* The registers of one frame after the other. */
struct frame {
    uint64_t ip;
    uint64_t sp;
    uint64_t bp;
    bool is_bp_known;
    bool has_frame_pointers; /* found by one: we are beyond the leaf's own object */
};

enum step {
    STEP_CALLER,  /* `frame` is the caller's now */
    STEP_CHAIN,   /* the next caller is the first that the kernel found */
    STEP_UNKNOWN, /* the next caller is not known, but the kernel's are callers further up */
    STEP_CUT,     /* nor is anything further up */
    STEP_END,     /* there is none */
};

/* Callers found, leaf first. */
struct found {
    uint64_t callers[STEPS_MAX];
    size_t count;
    enum step end;
};

int sn_leaf_new(struct sn_objects *objects, struct sn_leaf **ret_leaf, struct sonde_error *err)
{
    struct sn_leaf *leaf = calloc(1, sizeof(*leaf));
    if (!leaf)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for call frame rules");
    leaf->objects = objects;
    *ret_leaf = leaf;
    return SONDE_OK;
}

void sn_leaf_free(struct sn_leaf *leaf)
{
    free(leaf);
}

static struct slot look_up(struct sn_leaf *leaf, uint32_t object, uint64_t offset)
{
    struct slot slot = {.object = object, .offset = offset};
    struct sn_cfi_row row;
    uint64_t vaddr = sn_objects_vaddr(leaf->objects, object, offset);
    if (!sn_objects_cfi(leaf->objects, object, vaddr, &row))
        return slot;
    slot.base = row.base;
    slot.rbp = row.rbp;
    slot.cfa_offset = row.offset;
    slot.rbp_offset = row.rbp_offset;
    return slot;
}

/* The rule at a place. Hot code is sampled at the same addresses again and again. */
static const struct slot *rule_at(struct sn_leaf *leaf, uint32_t object, uint64_t offset)
{
    uint64_t hash = (offset ^ ((uint64_t)object << 40)) * 0x9e3779b97f4a7c15u;
    struct slot *slot = &leaf->slots[hash >> 53];
    _Static_assert(CACHE_SLOTS == 1u << (64 - 53), "the hash's high bits number the slots");
    if (slot->object != object || slot->offset != offset)
        *slot = look_up(leaf, object, offset);
    return slot;
}

static bool read_stack(const struct sn_leaf_sample *sample, uint64_t address, uint64_t *ret_word)
{
    uint64_t at = address - sample->sp;
    if (at > sample->stack_size || sample->stack_size - at < sizeof(*ret_word))
        return false;
    memcpy(ret_word, sample->stack + at, sizeof(*ret_word));
    return true;
}

/* The caller's rbp. Compilers leave out in epilogues that it is back in its register: then its
 * place is already below the stack pointer. */
static void restore_bp(const struct sn_leaf_sample *sample, const struct slot *rule, uint64_t cfa,
                       struct frame *frame)
{
    uint64_t place = cfa + (uint64_t)(int64_t)rule->rbp_offset;
    if (rule->rbp == SN_RBP_UNKNOWN)
        frame->is_bp_known = false;
    else if (rule->rbp == SN_RBP_SAVED && place >= frame->sp)
        frame->is_bp_known = read_stack(sample, place, &frame->bp);
}

static bool is_code(const struct sn_leaf_sample *sample, uint64_t return_address)
{
    uint32_t object = 0;
    uint64_t offset = 0;
    return sample->locate(sample->user, return_address - 1, &object, &offset);
}

/* The caller of `frame` by `rule`. */
static enum step step_by(const struct sn_leaf_sample *sample, const struct slot *rule,
                         struct frame *frame)
{
    bool is_by_bp = rule->base == SN_CFA_RBP;
    if (!is_by_bp && frame->has_frame_pointers && frame->is_bp_known && frame->bp < frame->sp)
        return STEP_END; /* what started the thread: there the kernel's chains end, too */
    uint64_t cfa = (is_by_bp ? frame->bp : frame->sp) + (uint64_t)rule->cfa_offset;
    if (cfa <= frame->sp || (is_by_bp && !frame->is_bp_known))
        return STEP_CUT;
    if (cfa == sample->bp + 16) /* then the return address is where rbp led the kernel first */
        return STEP_CHAIN;
    uint64_t caller = 0;
    bool is_found = read_stack(sample, cfa - sizeof(caller), &caller) && is_code(sample, caller);
    restore_bp(sample, rule, cfa, frame);
    if (!is_found)
        return frame->is_bp_known && frame->bp == sample->bp ? STEP_UNKNOWN : STEP_CUT;
    frame->ip = caller;
    frame->sp = cfa;
    frame->has_frame_pointers |= is_by_bp;
    return STEP_CALLER;
}

/* The rule for a frame; NULL: its code is not known to have any. */
static const struct slot *rule_of(struct sn_leaf *leaf, const struct sn_leaf_sample *sample,
                                  uint64_t address)
{
    uint32_t object = 0;
    uint64_t offset = 0;
    if (!sample->locate(sample->user, address, &object, &offset) || !object)
        return NULL;
    const struct slot *rule = rule_at(leaf, object, offset);
    return rule->base == SN_CFA_UNKNOWN ? NULL : rule;
}

static void find_callers(struct sn_leaf *leaf, const struct sn_leaf_sample *sample,
                         struct found *found)
{
    struct frame frame = {
        .ip = sample->ip, .sp = sample->sp, .bp = sample->bp, .is_bp_known = true};
    const struct slot *rule = rule_of(leaf, sample, frame.ip);
    bool is_known = rule && rule->base != SN_CFA_OUTERMOST;
    found->end = is_known ? step_by(sample, rule, &frame) : STEP_CHAIN;
    while (found->end == STEP_CALLER) {
        if (found->count == STEPS_MAX) {
            found->end = STEP_CUT;
            return;
        }
        rule = rule_of(leaf, sample, frame.ip - 1);
        if (rule && rule->base == SN_CFA_OUTERMOST) {
            found->end = STEP_END; /* clone: every thread has it, none is known by it */
            return;
        }
        found->callers[found->count++] = frame.ip;
        found->end = step_by(sample, rule ? rule : &by_frame_pointer, &frame);
    }
}

static uint32_t object_of(const struct sn_leaf_sample *sample, uint64_t return_address)
{
    uint32_t object = 0;
    uint64_t offset = 0;
    (void)sample->locate(sample->user, return_address - 1, &object, &offset);
    return object;
}

/* The caller of code at a return address that left rbp as it found it; `sp` is what it was there.
 * SN_LEAF_UNKNOWN: it did not, or nobody knows. */
static uint64_t lost_caller(struct sn_leaf *leaf, const struct sn_leaf_sample *sample,
                            uint64_t address, uint64_t sp)
{
    const struct slot *rule = rule_of(leaf, sample, address - 1);
    uint64_t caller = 0;
    if (!rule || rule->base != SN_CFA_RSP ||
        !read_stack(sample, sp + (uint64_t)rule->cfa_offset - sizeof(caller), &caller))
        return SN_LEAF_UNKNOWN;
    return is_code(sample, caller) ? caller : SN_LEAF_UNKNOWN;
}

/* Code without a frame of its own further up, in what the kernel found from sample->bp on: helpers
 * of the runtime in assembly, through which .NET 10 allocates. Whoever called them is missing: the
 * method that allocates. Looked for where the chain leaves an object, which is where they are, and
 * seldom enough to cost nothing. As far as the stack's bytes go; beyond, a chain stays as it is. */
static size_t fill_gaps(struct sn_leaf *leaf, const struct sn_leaf_sample *sample, uint64_t *chain,
                        size_t count)
{
    uint64_t bp = sample->bp; /* above it is the return address that is chain[at] */
    size_t filled = 0;
    uint32_t object = count ? object_of(sample, chain[0]) : 0;
    for (size_t at = 0; at + 1 < count + filled && filled < GAPS_MAX; at++) {
        uint32_t next = object_of(sample, chain[at + 1]);
        uint64_t sp = bp + 16;
        if (!read_stack(sample, bp, &bp) || bp < sp)
            break;
        uint64_t caller = SN_LEAF_UNKNOWN;
        if (object && object != next)
            caller = lost_caller(leaf, sample, chain[at], sp);
        if (caller != SN_LEAF_UNKNOWN) {
            at++;
            memmove(chain + at + 1, chain + at, (count + filled - at) * sizeof(*chain));
            chain[at] = caller;
            filled++;
        }
        object = next;
    }
    return filled;
}

static size_t code_count(const struct sn_leaf_sample *sample, const uint64_t *chain, size_t count)
{
    size_t kept = 0;
    while (kept < count && is_code(sample, chain[kept]))
        kept++;
    return kept;
}

struct sn_leaf_result sn_leaf_repair(struct sn_leaf *leaf, const struct sn_leaf_sample *sample,
                                     uint64_t *chain, size_t count)
{
    struct sn_leaf_result result = {.count = count};
    struct found found = {0};
    if (!count)
        return result;
    find_callers(leaf, sample, &found);
    bool is_followed = found.end == STEP_CHAIN || found.end == STEP_UNKNOWN;
    size_t rest = is_followed ? code_count(sample, chain + 1, count - 1) : 0;
    result.has_unknown = found.end == STEP_UNKNOWN && rest;
    result.is_cut = found.end == STEP_CUT || (is_followed && rest < count - 1) ||
                    (found.end == STEP_UNKNOWN && !rest);
    uint64_t *to = chain + 1 + found.count;
    memmove(to + result.has_unknown, chain + 1, rest * sizeof(*chain));
    memcpy(chain + 1, found.callers, found.count * sizeof(*chain));
    if (result.has_unknown)
        *to = SN_LEAF_UNKNOWN;
    size_t filled = fill_gaps(leaf, sample, to + result.has_unknown, rest);
    result.found = (uint32_t)(found.count + filled);
    result.count = 1 + found.count + result.has_unknown + rest + filled;
    return result;
}
