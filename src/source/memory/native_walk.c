#include <string.h>

#include "source/memory/stack_walk_internal.h"
#include "symbol/objects.h"

#define PROLOGUE_BYTES 40u
#define SCAN_WORDS     2048u /* of the stack, for a frame pointer that is not known */
#define CHAIN_MIN      2u    /* records that must follow one that was found by looking */
#define CONTEXT_RBP    120u  /* of ucontext_t */
#define CONTEXT_RSP    160u
#define CONTEXT_RIP    168u

/* Where a signal handler returns to: mov $15, %rax; syscall, as glibc and musl write it. */
static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
static const uint8_t short_restorer[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

static struct sn_walk_rule *rule_at(struct sn_stack_walk *walk, uint32_t object, uint64_t vaddr)
{
    uint64_t hash = (vaddr ^ ((uint64_t)object << 40)) * 0x9e3779b97f4a7c15u;
    struct sn_walk_rule *rule = &walk->rules[hash >> 52];
    _Static_assert(SN_WALK_RULES == 1u << (64 - 52), "the hash's high bits number the rules");
    if (rule->object != object || rule->vaddr != vaddr) {
        *rule = (struct sn_walk_rule){.object = object, .vaddr = vaddr};
        rule->is_known = sn_objects_cfi(walk->objects, object, vaddr, &rule->row);
    }
    return rule;
}

bool sn_native_walk_is_restorer(struct sn_stack_walk *walk, uint64_t ip)
{
    uint8_t bytes[sizeof(restorer)];
    return sn_walk_is_code(walk, ip) && sn_memory_read(walk->memory, ip, bytes, sizeof(bytes)) &&
           (!memcmp(bytes, restorer, sizeof(restorer)) ||
            !memcmp(bytes, short_restorer, sizeof(short_restorer)));
}

static bool is_stack(struct sn_stack_walk *walk, uint64_t address)
{
    const struct sn_memory_map *map = sn_memory_map_of(walk->memory, address);
    return map && (map->flags & SN_MAP_WRITE) && address % 8 == 0;
}

/* What the signal interrupted: all its registers lie on the stack. */
static enum sn_walk_step step_over_signal(struct sn_stack_walk *walk, struct sn_walk_cursor *cursor)
{
    struct sn_walk_cursor next = {.has_bp = true};
    if (!sn_walk_word(walk, cursor->sp + CONTEXT_RBP, &next.bp) ||
        !sn_walk_word(walk, cursor->sp + CONTEXT_RSP, &next.sp) ||
        !sn_walk_word(walk, cursor->sp + CONTEXT_RIP, &next.ip))
        return SN_STEP_LOST;
    if (next.sp <= cursor->sp || next.sp >= walk->stack_end) {
        if (walk->is_elsewhere || !is_stack(walk, next.sp & ~UINT64_C(7)))
            return SN_STEP_LOST;
        walk->is_elsewhere = true;
    }
    *cursor = next;
    return SN_STEP_CALLER;
}

/* Bytes that a function has taken below its frame pointer, by its first instructions:
 * push rbp; mov rbp, rsp; push ...; sub rsp, N. */
static bool taken_below(const uint8_t *code, size_t size, uint64_t *ret_bytes)
{
    static const uint8_t branch_target[] = {0xf3, 0x0f, 0x1e, 0xfa};
    static const uint8_t begin[] = {0x55, 0x48, 0x89, 0xe5};
    size_t at = !memcmp(code, branch_target, sizeof(branch_target)) ? sizeof(branch_target) : 0;
    uint64_t bytes = 0;
    if (memcmp(code + at, begin, sizeof(begin)) != 0)
        return false;
    at += sizeof(begin);
    for (;; bytes += 8) {
        at += at < size && code[at] == 0x41;
        if (at >= size || (code[at] & 0xf8) != 0x50)
            break;
        at++;
    }
    at -= code[at - 1] == 0x41;
    if (at + 7 > size)
        return false;
    uint32_t wide = 0;
    memcpy(&wide, code + at + 3, sizeof(wide));
    if (code[at] == 0x48 && code[at + 1] == 0x83 && code[at + 2] == 0xec)
        bytes += code[at + 3];
    else if (code[at] == 0x48 && code[at + 1] == 0x81 && code[at + 2] == 0xec)
        bytes += wide;
    *ret_bytes = bytes;
    return true;
}

static bool frame_by_prologue(struct sn_stack_walk *walk, uint64_t start,
                              struct sn_walk_cursor *cursor)
{
    uint8_t code[PROLOGUE_BYTES];
    uint64_t bytes = 0;
    if (!sn_memory_read(walk->memory, start, code, sizeof(code)) ||
        !taken_below(code, sizeof(code), &bytes) || !sn_walk_is_record(walk, cursor->sp + bytes))
        return false;
    cursor->bp = cursor->sp + bytes;
    cursor->has_bp = true;
    return true;
}

/* Records that follow one another from `address` up. */
static bool is_chain(struct sn_stack_walk *walk, uint64_t address)
{
    for (unsigned i = 0; i < CHAIN_MIN; i++) {
        uint64_t above = 0;
        for (size_t j = 0; j < walk->anchor_count; j++)
            if (walk->anchors[j].at.has_bp && walk->anchors[j].at.bp == address)
                return true;
        if (!sn_walk_is_record(walk, address) || !sn_walk_word(walk, address, &above) ||
            above <= address)
            return false;
        address = above;
    }
    return true;
}

/* By looking for one: calls that have returned leave records behind, too, but those return into the
 * function itself. */
static bool frame_by_looking(struct sn_stack_walk *walk, uint64_t start, uint64_t size,
                             struct sn_walk_cursor *cursor)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < SCAN_WORDS; i++) {
        uint64_t at = cursor->sp + (uint64_t)i * 8;
        if (!sn_walk_word(walk, at + 8, &word))
            return false;
        if (word - start < size || !is_chain(walk, at))
            continue;
        cursor->bp = at;
        cursor->has_bp = true;
        return true;
    }
    return false;
}

/* A row's frame pointer. Of threads that wait the kernel does not tell it. */
static bool find_frame(struct sn_stack_walk *walk, const struct sn_walk_rule *rule,
                       struct sn_walk_cursor *cursor)
{
    uint64_t at = cursor->ip - cursor->is_return;
    uint64_t start = at - (rule->vaddr - rule->row.start);
    return cursor->has_bp || frame_by_prologue(walk, start, cursor) ||
           frame_by_looking(walk, start, rule->row.size, cursor);
}

/* To the instruction that a fault struck, by the frame that the runtime made up for it. */
static enum sn_walk_step step_to_struck(struct sn_stack_walk *walk, const struct sn_cfi_row *row,
                                        struct sn_walk_cursor *cursor)
{
    struct sn_walk_cursor next = {.sp = cursor->sp + (uint64_t)(int64_t)row->offset};
    if (next.sp <= cursor->sp ||
        !sn_walk_word(walk, next.sp + (uint64_t)(int64_t)row->struck_offset, &next.ip) ||
        !sn_walk_is_code(walk, next.ip))
        return SN_STEP_LOST;
    next.has_bp = row->rbp == SN_RBP_SAVED &&
                  sn_walk_word(walk, next.sp + (uint64_t)(int64_t)row->rbp_offset, &next.bp);
    *cursor = next;
    return SN_STEP_CALLER;
}

static enum sn_walk_step step_by(struct sn_stack_walk *walk, const struct sn_cfi_row *row,
                                 struct sn_walk_cursor *cursor)
{
    bool is_by_bp = row->base == SN_CFA_RBP;
    struct sn_walk_cursor next = *cursor;
    uint64_t cfa = (is_by_bp ? cursor->bp : cursor->sp) + (uint64_t)(int64_t)row->offset;
    if (cfa <= cursor->sp || !sn_walk_word(walk, cfa - 8, &next.ip))
        return SN_STEP_LOST;
    uint64_t place = cfa + (uint64_t)(int64_t)row->rbp_offset;
    if (row->rbp == SN_RBP_UNKNOWN)
        next.has_bp = false;
    else if (row->rbp == SN_RBP_SAVED && place >= cursor->sp) /* else it is back already */
        next.has_bp = sn_walk_word(walk, place, &next.bp);
    next.sp = cfa;
    next.is_return = true;
    return sn_walk_arrive(walk, &next, cursor);
}

enum sn_walk_step sn_native_walk_step(struct sn_stack_walk *walk, struct sn_walk_cursor *cursor)
{
    uint32_t object = 0;
    uint64_t vaddr = 0;
    if (sn_native_walk_is_restorer(walk, cursor->ip))
        return step_over_signal(walk, cursor);
    const struct sn_walk_rule *rule = NULL;
    if (sn_walk_locate(walk, cursor->ip - cursor->is_return, &object, &vaddr))
        rule = rule_at(walk, object, vaddr);
    if (!rule || !rule->is_known || rule->row.base == SN_CFA_UNKNOWN)
        return sn_walk_by_record(walk, cursor);
    if (rule->row.base == SN_CFA_OUTERMOST)
        return SN_STEP_END;
    if (rule->row.base == SN_CFA_STRUCK)
        return step_to_struck(walk, &rule->row, cursor);
    if (rule->row.base == SN_CFA_RBP && !find_frame(walk, rule, cursor))
        return SN_STEP_LOST;
    return step_by(walk, &rule->row, cursor);
}
