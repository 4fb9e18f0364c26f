/* A sample's call chain made into a stack: without marks, kernel frames first, callers that leaves
 * lost put back, cut where it stops being code. One thread. */
#ifndef SN_STACKS_H
#define SN_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/leaf.h"

struct sn_perf_record;
struct sn_task;
struct sn_tasks;

/* The kernel gives 127 frames unless somebody raised kernel.perf_event_max_stack. */
#define SN_STACK_MAX 512u

/* Registers of the user's side that samples carry, and where they stand in sn_perf_sample.regs. */
#define SN_STACK_USER_REGS (7u << 6) /* x86-64: bp, sp, ip */
enum { SN_STACK_REG_BP, SN_STACK_REG_SP, SN_STACK_REG_IP };

#define SN_STACK_NEAR_BYTES 128u /* of the user's stack: the caller of a system call */

struct sn_stack {
    struct sn_tasks *tasks;                       /* borrows */
    struct sn_leaf *leaf;                         /* borrows; NULL: lost callers stay lost */
    uint64_t frames[SN_STACK_MAX + SN_LEAF_MORE]; /* leaf first; SN_LEAF_UNKNOWN: not known which */
    uint32_t depth;
    uint32_t kernel_depth; /* as many of them are the kernel's */
    uint32_t found;        /* callers that were put back */
    bool was_cut;
};

/* How much of the user's stack events should carry that come up to so often a second on a CPU: as
 * much as is of use, but 0.4 seconds of them have to fit into a ring. So long a busy machine may
 * keep us waiting. */
uint32_t sn_stack_user_bytes(uint32_t ring_kb, uint32_t per_second);

/* Makes the stack of `record`, a sample of `task`. The mappings it runs through are on the road
 * afterwards. */
void sn_stack_build(struct sn_stack *stack, struct sn_task *task,
                    const struct sn_perf_record *record);

#endif
