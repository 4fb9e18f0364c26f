/* A precompiled image in the target's memory: its functions, to which methods of the runtime they
 * belong, and their debug information. Private to the code map's files. */
#ifndef SN_READY_TO_RUN_H
#define SN_READY_TO_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "source/memory/native_array.h"

struct sn_code_reader;
struct sn_managed_code;
struct sn_range_section;

/* What is read once, but for what changes with time. */
struct sn_ready_to_run {
    uint64_t look;    /* of the code map: when it was last seen to be there */
    uint64_t section; /* RangeSection: which image it is */
    uint64_t module;
    uint64_t image; /* where it is loaded */
    uint64_t end;
    uint64_t functions; /* RUNTIME_FUNCTIONs, relative to the image */
    uint32_t function_count;
    uint64_t hot_cold; /* pairs of a cold function and its hot one */
    uint32_t hot_cold_count;
    uint64_t thunks; /* where code that binds calls lies */
    uint32_t thunks_size;
    uint64_t methods;        /* HashMap from entry points to MethodDescs */
    uint64_t clauses;        /* where methods start and how they handle exceptions, in pairs */
    uint32_t clause_entries; /* pairs, with one more at the end */
    uint32_t format;         /* major version of its format; 0: not known */
    struct sn_native_array debug_info;     /* by index of function; none: count 0 */
    struct sn_native_array method_entries; /* by row of MethodDef: index of function; likewise */
    /* functions of methods, built when first asked for: sorted by the function */
    struct sn_method_entry *entries; /* owns */
    uint32_t entry_count;
    uint32_t rows; /* that were read for it, of the reader's */
    bool has_entries;
};

struct sn_method_entry {
    uint64_t function; /* index */
    uint32_t token;
};

bool sn_ready_to_run_open(struct sn_code_reader *reader, const struct sn_range_section *section,
                          struct sn_ready_to_run *ret_image);
/* Gives back to the reader what rows it took. */
void sn_ready_to_run_done(struct sn_code_reader *reader, struct sn_ready_to_run *image);

/* As it is now; what was built from it stays as long as it is the same. False: it is none. */
bool sn_ready_to_run_reopen(struct sn_code_reader *reader, const struct sn_range_section *section,
                            struct sn_ready_to_run *image);

/* False: the address is in none of its functions. */
bool sn_ready_to_run_find(struct sn_code_reader *reader, struct sn_ready_to_run *image,
                          uint64_t address, struct sn_managed_code *ret_code);

/* The MethodDef whose code starts there, by the image alone: of methods that the runtime has not
 * prepared. 0: none, or one of the instantiations of a generic method. */
uint32_t sn_ready_to_run_token(struct sn_code_reader *reader, struct sn_ready_to_run *image,
                               uint64_t start);

#endif
