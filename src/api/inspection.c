/* Opens a runtime's memory and what is read by it. */
#include "api/inspection.h"

#include "base/err.h"
#include "source/memory/code_map.h"
#include "source/memory/core_memory.h"
#include "source/memory/source_lines.h"
#include "source/memory/stack_walk.h"
#include "source/memory/type_system.h"
#include "symbol/objects.h"

static int open_memory(struct sn_inspection *inspection, const char *core, struct sonde_error *err)
{
    struct sn_memory *memory = NULL;
    int rc = core ? sn_core_memory_open(core, &memory, &inspection->core, err)
                  : sn_memory_of_process(inspection->pid, &memory, err);
    if (rc != SONDE_OK)
        return rc;
    sn_memory_set_deadline(memory, inspection->deadline_ns);
    return sn_runtime_memory_open(memory, &inspection->runtime, err);
}

int sn_inspection_open(struct sn_inspection *inspection, uint32_t pid, const char *core,
                       bool with_lines, struct sonde_error *err)
{
    inspection->pid = pid;
    int rc = open_memory(inspection, core, err);
    if (rc == SONDE_OK)
        rc = sn_code_map_new(inspection->runtime, &inspection->code, err);
    if (rc == SONDE_OK)
        rc = sn_type_system_new(inspection->runtime, &inspection->types, err);
    if (rc == SONDE_OK)
        rc = sn_objects_new(&inspection->objects, err);
    if (rc == SONDE_OK)
        rc = sn_stack_walk_new(inspection->runtime, inspection->code, inspection->objects,
                               &inspection->walk, err);
    if (rc == SONDE_OK && with_lines)
        rc = sn_source_lines_new(inspection->runtime->memory, &inspection->lines, err);
    if (rc == SONDE_E_UNSUPPORTED && inspection->runtime && inspection->runtime->remarks[0]) {
        if (err)
            *err = (struct sonde_error){0}; /* that it is not told; here is why */
        return sn_fail(err, rc, 0, "%.360s", inspection->runtime->remarks);
    }
    return rc;
}

void sn_inspection_done(struct sn_inspection *inspection)
{
    sn_source_lines_free(inspection->lines);
    sn_stack_walk_free(inspection->walk);
    sn_objects_free(inspection->objects);
    sn_type_system_free(inspection->types);
    sn_code_map_free(inspection->code);
    sn_runtime_memory_free(inspection->runtime);
    *inspection = (struct sn_inspection){0};
}
