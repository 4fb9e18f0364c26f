/* The n-th call fails: what the loop of runs (runs.c) and the calls that fail (calls.c) know of
 * each other. Both are preloaded into a unit test. */
#ifndef SN_TEST_NTH_H
#define SN_TEST_NTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What can fail. */
enum nth_kind {
    NTH_MEMORY,  /* malloc and what takes memory itself: ENOMEM */
    NTH_READ,    /* of a file: EIO; of a socket: ECONNRESET */
    NTH_PARTIAL, /* a read or write of one byte instead of all */
    NTH_WRITE,   /* to a file, and sync: ENOSPC; to a socket: ECONNRESET */
    NTH_MAPPING, /* mmap: ENOMEM */
    NTH_THREAD,  /* pthread_create: EAGAIN */
    NTH_KINDS
};

/* The n-th call of a kind in a test, from 1. */
struct nth_call {
    enum nth_kind kind;
    uint64_t n;
};

#define NTH_PATH_LIMIT 8192

/* What the loop shares with the processes that it starts. */
struct nth_run {
    struct nth_call failing; /* n is 0: none; paths are noted instead */
    bool is_shown;           /* with the stack of the call that fails */
    atomic_ullong calls[NTH_KINDS];
    unsigned descriptor_count; /* open at the end, when no call fails */
    /* The first call along each path (a caller, and its callers) that no test before has taken. */
    atomic_uint path_count;
    uint64_t hashes[NTH_PATH_LIMIT];
    struct nth_call paths[NTH_PATH_LIMIT];
};

/* From now on calls of this process count. `test_end` is where the test's own code ends. */
void nth_begin(struct nth_run *run, const void *test_end);

/* Ends the process when memory was lost. */
void nth_check_leaks(void);

/* Exit statuses that no test has of itself: cmocka's are the number of failed tests. */
enum { NTH_LEAKED = 222, NTH_SANITIZED = 223 };

#endif
