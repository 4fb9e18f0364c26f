/* What our reading of a process's memory calls its methods and types, against what its runtime
 * called them in a trace of it that is not older than the process:
 *
 *   interop_type_names PID FILE
 *
 * Prints a line for each difference: what differs, the runtime's and ours with tabs between; then
 * "methods SAME ALL", "dynamic SAME ALL" (methods without metadata, which may be gone meanwhile and
 * another in their place), "types SAME ALL" and "fields PROVED ALL", and what some statics are.
 * Exit status 1: something differs that is not dynamic. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "base/text.h"
#include "clr/runtime_events.h"
#include "format/assembly.h"
#include "format/nettrace_reader.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"
#include "source/memory/memory.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/type_system.h"
#include "symbol/methods.h"

#define CHUNK     65536u
#define NAMES_MAX (64u << 20)
#define TYPES_MAX (1u << 20)

struct task {
    struct sn_methods *methods;
    struct sn_table type_names; /* TypeID -> offset in `names`, plus one */
    struct sn_buf names;
};

/* Allocations tell the name of a type and its MethodTable. */
static void take_type(struct task *task, const struct sn_event *event)
{
    struct sn_payload payload;
    struct sn_value value;
    uint64_t id = 0;
    sn_payload_start(&payload, event);
    while (sn_payload_next(&payload, &value) == SONDE_OK) {
        if (value.depth == 0 && strcmp(value.field->name, "TypeID") == 0)
            id = value.number;
        if (value.depth != 0 || strcmp(value.field->name, "TypeName") != 0 || !id)
            continue;
        uint64_t *slot = sn_table_put(&task->type_names, id);
        if (!slot || *slot)
            return;
        *slot = task->names.size + 1;
        sn_text_from_utf16(&task->names, value.bytes, value.size / 2);
        sn_buf_u8(&task->names, 0);
    }
}

static int take_event(void *user, const struct sn_event *event)
{
    struct task *task = user;
    sn_methods_take(task->methods, event);
    if (strncmp(event->schema->name, "GCAllocationTick", 16) == 0)
        take_type(task, event);
    return SONDE_OK;
}

static bool describe(void *user, struct sn_schema *schema, struct sn_arena *arena)
{
    (void)user;
    (void)arena;
    return sn_clr_describe(schema);
}

static const struct sn_nettrace_ops ops = {.event = take_event};

static int read_trace(struct task *task, const char *path, struct sonde_error *err)
{
    static uint8_t chunk[CHUNK];
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sn_fail_errno(err, "cannot be read");
    int rc = sn_nettrace_reader_new(&ops, task, &reader, err);
    if (rc != SONDE_OK)
        return rc;
    sn_nettrace_reader_set_layouts(reader, describe, NULL);
    ssize_t size = read(fd, chunk, sizeof(chunk));
    for (; rc == SONDE_OK && size > 0; size = read(fd, chunk, sizeof(chunk)))
        rc = sn_nettrace_reader_feed(reader, chunk, (size_t)size, err);
    return rc == SONDE_OK ? sn_nettrace_reader_finish(reader, err) : rc;
}

static bool differs(const char *what, const struct sn_method *theirs, const char *left,
                    const char *right)
{
    if (strcmp(left, right) == 0)
        return false;
    (void)printf("%s\t%s\t%s\t%s.%s %" PRIx64 "\n", what, left, right, theirs->type, theirs->name,
                 theirs->method_id);
    return true;
}

/* The runtime's events have a token for what has no metadata, too: a row that is none. */
static bool is_same_method(struct sn_type_system *types, const struct sn_method *theirs)
{
    const struct sn_memory_method *ours = sn_type_system_method(types, theirs->method_id);
    char left[16];
    char right[16];
    if (!ours) {
        (void)printf("unknown\t%s\t%s\t%s %" PRIx64 "\n", theirs->type, theirs->name,
                     theirs->signature, theirs->method_id);
        return false;
    }
    uint32_t token = theirs->token & 0xFFFFFFu ? theirs->token : 0;
    (void)snprintf(left, sizeof(left), "%x", (unsigned)token);
    (void)snprintf(right, sizeof(right), "%x", (unsigned)ours->token);
    uint64_t module = ours->module ? ours->module->address : theirs->module_id;
    if (module != theirs->module_id)
        (void)printf("module\t%" PRIx64 "\t%" PRIx64 "\t%s.%s\n", theirs->module_id, module,
                     theirs->type, theirs->name);
    bool is_other = differs("type", theirs, theirs->type, ours->type_name);
    is_other |= differs("name", theirs, theirs->name, ours->name);
    is_other |= differs("signature", theirs, theirs->signature, ours->signature);
    is_other |= !(theirs->flags & 1) && differs("token", theirs, left, right);
    return !is_other && module == theirs->module_id;
}

static bool take_address(void *user, const struct sn_memory_module *module)
{
    return sn_table_put(user, module->address) != NULL;
}

/* Of modules that are loaded: what was unloaded since has no names. */
static bool compare_methods(struct sn_type_system *types, const struct sn_methods *methods)
{
    struct sn_table loaded = sn_table_with_limit(TYPES_MAX);
    struct sn_table seen = sn_table_with_limit(TYPES_MAX);
    uint64_t same[2] = {0, 0};
    uint64_t all[2] = {0, 0};
    sn_type_system_modules(types, take_address, &loaded);
    for (size_t i = 0; i < sn_methods_count(methods); i++) {
        const struct sn_method *method = sn_methods_at(methods, i);
        if (sn_table_find(&seen, method->method_id) || method->until_ns != UINT64_MAX ||
            !sn_table_find(&loaded, method->module_id))
            continue;
        (void)sn_table_put(&seen, method->method_id);
        all[method->flags & 1]++;
        same[method->flags & 1] += is_same_method(types, method);
    }
    (void)printf("methods %" PRIu64 " %" PRIu64 "\n", same[0], all[0]);
    (void)printf("dynamic %" PRIu64 " %" PRIu64 "\n", same[1], all[1]);
    sn_table_done(&seen);
    sn_table_done(&loaded);
    return same[0] == all[0];
}

/* These events leave out what the type is nested in, if not what its arguments are. */
static bool is_same_type(const char *theirs, const char *ours)
{
    size_t outer = strcspn(ours, "[");
    while (outer > 0 && ours[outer - 1] != '+')
        outer--;
    return strcmp(theirs, ours) == 0 || (outer > 0 && strcmp(theirs, ours + outer) == 0);
}

static bool compare_types(struct sn_type_system *types, const struct task *task)
{
    uint64_t same = 0;
    for (size_t i = 0; i < task->type_names.capacity; i++) {
        const struct sn_table_slot *slot = &task->type_names.slots[i];
        if (!slot->used)
            continue;
        const char *theirs = (const char *)task->names.bytes + slot->value - 1;
        const struct sn_memory_type *ours = sn_type_system_type(types, slot->key);
        if (ours && is_same_type(theirs, ours->name))
            same++;
        else
            (void)printf("type name\t%s\t%s\t%" PRIx64 "\n", theirs, ours ? ours->name : "none",
                         slot->key);
    }
    (void)printf("types %" PRIu64 " %zu\n", same, task->type_names.count);
    return same == task->type_names.count;
}

struct fields {
    struct sn_type_system *types;
    uint64_t proved;
    uint64_t all;
    uint64_t loaded;
    uint64_t silent; /* modules that have an image, and no metadata */
};

static void count_fields(struct fields *fields, const struct sn_assembly *metadata, uint32_t token,
                         uint64_t table)
{
    uint32_t first = 0;
    uint32_t count = 0;
    if (!sn_assembly_fields(metadata, token, &first, &count))
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct sn_assembly_field field;
        struct sn_memory_field ours;
        if (!sn_assembly_field(metadata, first + i, &field) || field.flags & 0x40)
            continue;
        bool is_ours = sn_type_system_field(fields->types, table, field.name, &ours) &&
                       ours.token == field.token && ours.owner == table;
        fields->all++;
        fields->proved += is_ours;
        if (!is_ours)
            (void)printf("field\t%s\t%s\n", sn_type_system_type(fields->types, table)->name,
                         field.name);
    }
}

static bool take_module(void *user, const struct sn_memory_module *module)
{
    struct fields *fields = user;
    if (!module->metadata && module->image) {
        fields->silent++;
        (void)printf("module\t%s\n", module->path);
    }
    if (!module->metadata)
        return true;
    for (uint32_t row = 1; row <= module->metadata->tables[2].row_count; row++) {
        uint64_t table = sn_type_system_typedef(fields->types, module, 0x02000000u | row);
        fields->loaded += table != 0;
        if (table)
            count_fields(fields, module->metadata, 0x02000000u | row, table);
    }
    return true;
}

/* Every field of every type that is loaded: whether what the runtime says of it is what metadata
 * say. */
static bool compare_fields(struct sn_type_system *types)
{
    struct fields fields = {.types = types};
    sn_type_system_modules(types, take_module, &fields);
    (void)printf("fields %" PRIu64 " %" PRIu64 " of %" PRIu64 " types\n", fields.proved, fields.all,
                 fields.loaded);
    return fields.all > 0 && fields.proved == fields.all && !fields.silent;
}

static int compare(struct task *task, uint32_t pid, const char *path, struct sonde_error *err)
{
    SN_AUTO(sn_runtime_memory_free) struct sn_runtime_memory *runtime = NULL;
    struct sn_memory *memory = NULL;
    struct sn_type_system *types = NULL;
    int rc = read_trace(task, path, err);
    if (rc == SONDE_OK)
        rc = sn_memory_of_process(pid, &memory, err);
    if (rc == SONDE_OK)
        rc = sn_runtime_memory_open(memory, &runtime, err);
    if (rc == SONDE_OK)
        rc = sn_type_system_new(runtime, &types, err);
    if (rc != SONDE_OK)
        return rc;
    bool is_same = compare_methods(types, task->methods);
    is_same &= compare_types(types, task);
    is_same &= compare_fields(types);
    sn_type_system_free(types);
    return is_same ? SONDE_OK : SONDE_END;
}

int main(int argc, char **argv)
{
    struct sonde_error err = {0};
    struct task task = {.type_names = sn_table_with_limit(TYPES_MAX),
                        .names = sn_buf_with_limit(NAMES_MAX)};
    if (argc != 3) {
        (void)fprintf(stderr, "usage: interop_type_names PID FILE\n");
        return 2;
    }
    int rc = sn_methods_new(&task.methods, &err);
    if (rc == SONDE_OK)
        rc = compare(&task, (uint32_t)strtoul(argv[1], NULL, 10), argv[2], &err);
    if (rc < 0)
        (void)fprintf(stderr, "interop_type_names: %s\n", err.text);
    sn_methods_free(task.methods);
    sn_table_done(&task.type_names);
    sn_buf_done(&task.names);
    return rc == SONDE_OK ? 0 : rc == SONDE_END ? 1 : 2;
}
