/* Asks for code addresses of a live process, one in hexadecimal a line on standard input: what the
 * map of code finds there, one line each; "-" where it finds nothing. For code_map_test. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/own.h"
#include "sonde/error.h"
#include "source/memory/code_map.h"
#include "source/memory/runtime_memory.h"

static void show(struct sn_code_map *map, uint64_t address)
{
    struct sn_managed_code code;
    uint32_t il;
    if (!sn_code_map_find(map, address, &code)) {
        puts("-");
        return;
    }
    bool has_il = sn_code_map_il_offset(map, &code, address, &il);
    printf("%u %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %d %" PRIx64 " %x %" PRIx64 " ",
           code.kind, code.method, code.start, code.function, code.function_end, code.is_funclet,
           code.module, code.token, code.unwind_info);
    if (has_il)
        printf("%" PRIx32 "\n", il);
    else
        puts("-");
}

static int ask(uint32_t pid, struct sonde_error *err)
{
    struct sn_memory *memory = NULL;
    SN_AUTO(sn_runtime_memory_free) struct sn_runtime_memory *runtime = NULL;
    SN_AUTO(sn_code_map_free) struct sn_code_map *map = NULL;
    int status = sn_memory_of_process(pid, &memory, err);
    if (status == SONDE_OK)
        status = sn_runtime_memory_open(memory, &runtime, err);
    if (status == SONDE_OK)
        status = sn_code_map_new(runtime, &map, err);
    if (status != SONDE_OK)
        return status;
    char line[64];
    while (fgets(line, sizeof(line), stdin)) {
        if (line[0] == '!') { /* as the next look at a process begins */
            sn_memory_forget(memory);
            sn_code_map_forget(map);
            continue;
        }
        show(map, strtoull(line, NULL, 16));
    }
    return SONDE_OK;
}

int main(int argc, char **argv)
{
    struct sonde_error err = {0};
    if (argc != 2) {
        fputs("usage: interop_code_map PID < ADDRESSES\n", stderr);
        return 2;
    }
    if (ask((uint32_t)strtoul(argv[1], NULL, 10), &err) == SONDE_OK)
        return 0;
    fprintf(stderr, "%s\n", err.text);
    return 1;
}
