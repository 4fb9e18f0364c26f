/* A process, or a core file, opened for reading its runtime's memory: everything of source/memory
 * that goes together. One thread. */
#ifndef SN_INSPECTION_H
#define SN_INSPECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/memory/runtime_memory.h"

struct sn_code_map;
struct sn_elf_core;
struct sn_objects;
struct sn_source_lines;
struct sn_stack_walk;
struct sn_type_system;
struct sonde_error;

struct sn_inspection {
    uint32_t pid;                      /* 0: a core file */
    uint64_t deadline_ns;              /* of reading its memory; 0: none. Set before it is opened */
    struct sn_runtime_memory *runtime; /* owns, as all of these */
    const struct sn_elf_core *core;    /* borrows from the runtime's memory; NULL: a live process */
    struct sn_code_map *code;
    struct sn_type_system *types;
    struct sn_objects *objects;
    struct sn_stack_walk *walk;
    struct sn_source_lines *lines; /* NULL: not asked for */
};

/* Of process `pid`, or of the core file at `core`. Zero it before, but for the deadline; done in
 * any case. SONDE_E_UNSUPPORTED: its runtime cannot be read in this way, with the reason. */
int sn_inspection_open(struct sn_inspection *inspection, uint32_t pid, const char *core,
                       bool with_lines, struct sonde_error *err);
void sn_inspection_done(struct sn_inspection *inspection);

static inline void sn_inspection_done_auto(struct sn_inspection *inspection)
{
    sn_inspection_done(inspection);
}

#endif
