/* Callers that a chain of frame pointers loses: code without them (libc) does not appear as a frame
 * of its own, so that its direct caller is skipped, and where it uses rbp for other things the
 * chain is rubbish. Found again by the rules of .eh_frame from the registers and the first bytes of
 * the stack; what cannot be known is left unknown. The same for the runtime's helpers in assembly
 * further up, through which methods allocate. One thread. */
#ifndef SN_LEAF_H
#define SN_LEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_leaf;
struct sn_objects;
struct sonde_error;

/* Of a stack, measured on .NET 10 and glibc 2.36. 512 bytes hold the direct caller of nearly all
 * leaves in libc. But pthread_cond_timedwait, in which most threads wait, uses rbp: nothing of the
 * kernel's chain is left, and 4096 bytes are needed to find the way to the thread's start (99 %).
 */
#define SN_LEAF_STACK_BYTES 512u
#define SN_LEAF_WHOLE_BYTES 4096u

#define SN_LEAF_MORE    128u /* addresses by which a chain may grow */
#define SN_LEAF_UNKNOWN 0u   /* stands in a chain for callers that are not known */

/* Where code lies. True: `address` is in an executable mapping; of a file (sn_objects_add) with the
 * offset in it, or *ret_object 0. */
typedef bool sn_leaf_locate_fn(void *user, uint64_t address, uint32_t *ret_object,
                               uint64_t *ret_offset);

/* A thread's user side when it was sampled. Borrows. */
struct sn_leaf_sample {
    uint64_t ip;
    uint64_t sp;
    uint64_t bp;
    const uint8_t *stack; /* from sp up */
    size_t stack_size;
    sn_leaf_locate_fn *locate;
    void *user;
};

struct sn_leaf_result {
    size_t count;     /* of the chain now */
    uint32_t found;   /* lost callers that stand in it again */
    bool has_unknown; /* SN_LEAF_UNKNOWN stands in it */
    bool is_cut;      /* what came after was no chain of callers */
};

/* Borrows `objects`, which outlive it. */
int sn_leaf_new(struct sn_objects *objects, struct sn_leaf **ret_leaf, struct sonde_error *err);
void sn_leaf_free(struct sn_leaf *leaf);

/* Puts the kernel's chain of user addresses right: chain[0] is the sample's ip, the rest return
 * addresses as its frame pointers gave them. `chain` has room for SN_LEAF_MORE more than `count`.
 * Cuts it at the first address that is in no executable mapping. */
struct sn_leaf_result sn_leaf_repair(struct sn_leaf *leaf, const struct sn_leaf_sample *sample,
                                     uint64_t *chain, size_t count);

#endif
