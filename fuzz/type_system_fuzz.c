/* Any bytes as the memory of a process with a runtime in it: whatever is asked of its types ends
 * soon, and what is told is text. */
#include <stdlib.h>
#include <string.h>

#include "../tests/unit/made_types.h"

#define READS_MAX (1u << 22)

static bool take_module(void *user, const struct sn_memory_module *module)
{
    size_t *count = user;
    if (strlen(module->path) > (size_t)MADE_SIZE * 3 || ++*count > MADE_SIZE)
        abort();
    return true;
}

static void ask(struct sn_type_system *types, uint64_t address)
{
    struct sn_memory_field field;
    char text[64];
    const struct sn_memory_type *type = sn_type_system_type(types, address);
    if (type && strlen(type->name) > 1u << 20)
        abort();
    const struct sn_memory_method *method = sn_type_system_method(types, address);
    if (method && (!method->name || !method->signature || !method->type_name))
        abort();
    (void)sn_type_system_object_type(types, address);
    if (!sn_type_system_read_string(types, address, text, sizeof(text)) && text[0])
        abort();
    if (sn_type_system_field(types, address, "deep", &field) && !field.owner)
        abort();
}

static void ask_all(struct sn_runtime_memory *runtime, size_t size)
{
    struct sonde_error err = {0};
    struct sn_type_system *types = NULL;
    size_t modules = 0;
    if (sn_type_system_new(runtime, &types, &err) != SONDE_OK)
        return;
    for (uint64_t address = MADE_BASE; address < MADE_BASE + size; address += 8)
        ask(types, address);
    sn_type_system_modules(types, take_module, &modules);
    struct sn_buf name = sn_buf_with_limit(4096);
    (void)sn_type_system_handle_name(types, MADE_POINTER | 2, &name);
    sn_buf_done(&name);
    (void)sn_type_system_find(types, NULL, "Made.Outer");
    sn_type_system_free(types);
}

/* As .NET 8 has them, too. */
static void add_old(struct sn_runtime_memory *runtime)
{
    static const char json[] = "{\"types\":{\"MethodTable\":{\"Token\":2,\"!\":64},"
                               "\"EEClass\":{\"FieldsArePacked\":24,\"FixedSize\":25}}}";
    struct sonde_error err = {0};
    if (sn_contract_add(runtime->contract, json, sizeof(json) - 1, NULL, 0, &err) != SONDE_OK)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct made_process process;
    process.size = size < MADE_SIZE ? size : MADE_SIZE;
    process.reads = 0;
    memcpy(process.bytes, data, process.size);
    struct sn_runtime_memory *runtime = made_process_open(&process);
    if (!runtime)
        return 0;
    ask_all(runtime, process.size);
    add_old(runtime);
    ask_all(runtime, process.size);
    if (process.reads > READS_MAX)
        abort();
    sn_runtime_memory_free(runtime);
    return 0;
}
