/* What the compiler makes of an async method: a state machine, in a box that the builder allocates
 * when the method first waits. Where in a box what lies, by type and field metadata; answers are
 * kept. Borrows runtime and types. One thread. */
#ifndef SN_STATE_MACHINE_H
#define SN_STATE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_found_object;
struct sn_memory_module;
struct sn_runtime_memory;
struct sn_state_machines;
struct sn_type_system;
struct sonde_error;

#define SN_AWAITERS_MAX 32u

/* A kind of state machine. Borrowed, stays. */
struct sn_state_machine {
    uint64_t type;                         /* MethodTable */
    const char *type_name;                 /* "Shop.Orders+<PlaceAsync>d__3" */
    const struct sn_memory_module *module; /* or NULL */
    uint32_t token;                        /* of MoveNext; 0: not known */
    uint32_t size;                         /* of its fields */
    bool has_state;
    uint32_t state;                     /* offset of the number of the await */
    uint32_t awaiters[SN_AWAITERS_MAX]; /* offsets of what it waits for by turns */
    uint32_t awaiter_count;
};

#define SN_STATE_RUNNING (-1)
#define SN_STATE_UNKNOWN INT32_MAX /* a language whose state machines have none that we know */

/* One box as it was. */
struct sn_async_box {
    const struct sn_state_machine *machine;
    int32_t state;
    uint64_t continuation; /* who is to be told when it completes: an object, or 0 */
    uint64_t awaited;      /* object that it waits for, or 0 */
    uint64_t object; /* the state machine where it is an object of its own, or 0: async iterators
                        are awaited by it */
};

int sn_state_machines_new(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                          struct sn_state_machines **ret_machines, struct sonde_error *err);
void sn_state_machines_free(struct sn_state_machines *machines);

/* False: what it holds is not the state machine of a method that is under way (it must point back
 * to its box). */
bool sn_state_machines_read(struct sn_state_machines *machines, const struct sn_found_object *box,
                            struct sn_async_box *ret_box);

#endif
