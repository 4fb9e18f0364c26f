/* A .NET runtime found in a memory: where it lies, which it is, and the contract by which its
 * structures are read. The base of everything else in this folder, which borrows it. One thread. */
#ifndef SN_RUNTIME_MEMORY_H
#define SN_RUNTIME_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/memory/memory.h"

struct sn_contract;

struct sn_runtime_memory {
    struct sn_memory *memory;     /* owns */
    struct sn_contract *contract; /* owns */
    uint64_t base;                /* where the module that holds the runtime is loaded */
    uint64_t dac_table;           /* of the exported g_dacTable, or 0 */
    uint32_t major;               /* 8, 9, 10; 0: not known */
    char version[32];             /* "10.0.12", or "" */
    bool is_single_file;          /* the runtime is the program itself */
    char remarks[512]; /* what of it could not be proved, so is not read, and why; or "" */
};

/* Takes `memory`, also on failure. SONDE_E_NOT_FOUND: no .NET runtime in it; SONDE_E_UNSUPPORTED:
 * one that cannot be read in this way, with the reason (an unknown version of a contract,
 * NativeAOT). */
int sn_runtime_memory_open(struct sn_memory *memory, struct sn_runtime_memory **ret_runtime,
                           struct sonde_error *err);
void sn_runtime_memory_free(struct sn_runtime_memory *runtime);

static inline void sn_runtime_memory_free_auto(struct sn_runtime_memory **slot)
{
    sn_runtime_memory_free(*slot);
}

/* Address of what the runtime's module exports by that name; 0: it does not. */
uint64_t sn_runtime_memory_symbol(struct sn_runtime_memory *runtime, const char *name);

/* --- managed threads --- */

struct sn_managed_thread {
    uint64_t address;    /* of the runtime's Thread */
    uint64_t os_id;      /* as the target counts it; 0: not started or dead */
    uint32_t managed_id; /* Thread.ManagedThreadId */
    uint32_t state;      /* the runtime's bits */
    uint64_t frame;      /* innermost explicit Frame, or all ones */
    uint64_t
        exposed; /* handle of its System.Threading.Thread object: address of the pointer; or 0 */
    uint64_t exception;     /* object that is in flight, or 0 */
    uint64_t alloc_pointer; /* its allocation context, or 0 */
    uint64_t alloc_limit;
    bool is_preemptive; /* it was in native code, or on its way there */
};

#define SN_MANAGED_THREADS_MAX 65536u

/* All of them: an array that the caller frees. A list that loops, or is cut by a change, is tried
 * again, then cut and said: *ret_is_partial. */
int sn_runtime_memory_threads(struct sn_runtime_memory *runtime,
                              struct sn_managed_thread **ret_threads, size_t *ret_count,
                              bool *ret_is_partial, struct sonde_error *err);

#endif
