/* Where a thread of a live process is: its registers and stack, without stopping it where it waits
 * or is stopped anyway, else by holding it alone for microseconds (ptrace). One thread. */
#ifndef SN_THREAD_STATE_H
#define SN_THREAD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_memory;
struct sonde_error;

enum sn_thread_how {
    SN_THREAD_GONE,    /* it has ended */
    SN_THREAD_WAITING, /* in a system call, and stayed there while it was read */
    SN_THREAD_STOPPED, /* by a signal, by a debugger, or in a core file */
    SN_THREAD_HELD,    /* it was running; held while registers and stack were copied */
    SN_THREAD_RUNNING, /* it is running and was not to be held, or could not be */
};

struct sn_registers {
    uint64_t ip;
    uint64_t sp;
    uint64_t bp;
    bool has_bp; /* the kernel tells ip and sp only of a thread that it is not asked to hold */
};

struct sn_thread_state {
    uint8_t how;       /* enum sn_thread_how */
    char kernel_state; /* R S D T t Z */
    int64_t syscall;   /* number, or -1: in none; -2: not known */
    bool has_timeout;  /* it waits in a futex, and not for ever */
    struct sn_registers registers;
    uint8_t *stack; /* owns: a copy from sp up; of the same moment as the registers */
    size_t stack_size;
    uint64_t note_address; /* what else was read at that moment; 0: nothing */
    const uint8_t *note;   /* SN_THREAD_NOTE bytes of there, kept behind the stack; or NULL */
    char name[32];         /* as the kernel has it */
    uint64_t switches; /* how often it has been switched: it has not moved when this is the same */
    uint64_t held_ns;  /* how long it was kept from running; 0: it was not held */
};

#define SN_STACK_COPY_MAX (8u << 20) /* a deeper stack is cut */

/* `tid` as we see it. `may_hold`: a running thread may be held. Retried when it moved meanwhile.
 * Never fails but by `how`; done afterwards. */
void sn_thread_state_read(struct sn_memory *memory, uint32_t pid, uint32_t tid, bool may_hold,
                          struct sn_thread_state *ret_state);

/* The same, and SN_THREAD_NOTE bytes at `note_address` with it, as they were then: for the walker,
 * the runtime's Thread. 0: none. */
#define SN_THREAD_NOTE 1024u
void sn_thread_state_read_noting(struct sn_memory *memory, uint32_t pid, uint32_t tid,
                                 bool may_hold, uint64_t note_address,
                                 struct sn_thread_state *ret_state);

/* Copies the stack from state->registers.sp up to the end of its mapping, and the note. */
void sn_thread_copy_stack(struct sn_memory *memory, struct sn_thread_state *state);

void sn_thread_state_done(struct sn_thread_state *state);

#endif
