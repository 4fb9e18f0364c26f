/* How known layouts are proved; private to the files known_*.c. */
#ifndef SN_KNOWN_LAYOUTS_INTERNAL_H
#define SN_KNOWN_LAYOUTS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/memory/contract.h"
#include "source/memory/memory.h"

#define SN_TRIAL_FRAMES 64u

struct sn_range_section;
struct sn_runtime_memory;

/* A group on trial: what it says is looked up behind what is told or proved already. */
struct sn_layout_trial {
    struct sn_runtime_memory *runtime;
    struct sn_memory *memory;
    struct sn_contract *group;
    uint64_t frame_classes[SN_TRIAL_FRAMES]; /* all that are known */
    size_t frame_class_count;
    bool is_proved;
    bool is_unbound; /* it lacks what another group would have brought */
    char why[160];   /* what did not hold */
};

/* Always false, so that a proof may return it. */
bool sn_trial_fail(struct sn_layout_trial *trial, const char *why);

bool sn_trial_bind(struct sn_layout_trial *trial, const struct sn_contract_want *wants,
                   size_t count, void *to);
bool sn_trial_number(struct sn_layout_trial *trial, const char *name, uint64_t *ret_value);

/* The address of a variable, and the pointer that it holds; not 0. */
bool sn_trial_address(struct sn_layout_trial *trial, const char *name, uint64_t *ret_address);
bool sn_trial_pointer(struct sn_layout_trial *trial, const char *name, uint64_t *ret_pointer);

/* A pointer in a structure that is told: aligned, not 0. False: neither. */
bool sn_trial_follow(struct sn_layout_trial *trial, uint64_t address, uint32_t offset,
                     uint64_t *ret_pointer);

/* The proofs, one for each group. */
bool sn_prove_threads(struct sn_layout_trial *trial);
bool sn_prove_types(struct sn_layout_trial *trial);
bool sn_prove_modules(struct sn_layout_trial *trial);
bool sn_prove_code(struct sn_layout_trial *trial);
bool sn_prove_frames(struct sn_layout_trial *trial);
bool sn_prove_sync_blocks(struct sn_layout_trial *trial);
bool sn_prove_constructors(struct sn_layout_trial *trial);

/* For several of them. */
bool sn_trial_is_method_table(struct sn_layout_trial *trial, uint64_t table);
bool sn_trial_core_library(struct sn_layout_trial *trial, uint64_t *ret_module);

/* The range of code that holds an address, as source/memory/range_sections.h has it. */
bool sn_trial_range_of(struct sn_layout_trial *trial, uint64_t address,
                       struct sn_range_section *ret_range);

#endif
