/* Holds one thread of another process by ptrace for as long as its registers and stack are copied.
 * Never longer: a tenth of a second ends it whatever the reading waits for, and the kernel lets it
 * go even when we are killed. Signals stay its own, and the end of a child its parent's.
 *
 * What remains: our process gets a SIGCHLD for each stop, and a wait() of another of its threads
 * may see one (of any child, or of this one). */
#ifndef SN_THREAD_HOLD_H
#define SN_THREAD_HOLD_H

#include <stdbool.h>
#include <stdint.h>

struct sn_memory;
struct sn_thread_state;

enum sn_hold_result {
    SN_HOLD_DONE,
    SN_HOLD_STOPPED, /* done; it was stopped by a signal, and still is */
    SN_HOLD_GONE,
    SN_HOLD_REFUSED, /* no right to, somebody else holds it, or it did not come to rest in time */
};

/* Fills in registers, stack, syscall and held_ns. `task` is /proc/PID/task/TID, opened before it
 * was known that it is to be held: proves that the number is still that thread's. Waits for reads
 * that wait; the thread does not. */
enum sn_hold_result sn_thread_hold(struct sn_memory *memory, int task, uint32_t tid,
                                   struct sn_thread_state *state);

/* The thread behind /proc/PID/task/TID has not ended. */
bool sn_thread_is_there(int task);

#endif
