/* A runtime's memory with any bytes of it changed: the input is where to ask, then what to write
 * where. Whatever comes out holds the address, and it comes soon. */
#include <stdlib.h>

#include "../tests/unit/code_image.h"
#include "base/cursor.h"
#include "sonde/error.h"
#include "source/memory/code_map.h"
#include "source/memory/contract.h"
#include "source/memory/runtime_memory.h"

#define READS_MAX 100000u /* two looks, and the rows of an image */

static void check(struct sn_code_map *map, uint64_t address)
{
    struct sn_managed_code code;
    uint32_t il;
    if (!sn_code_map_find(map, address, &code) || code.kind == SN_CODE_STUB)
        return;
    if (code.function > address || code.function_end <= address || code.method & 7)
        abort();
    (void)sn_code_map_il_offset(map, &code, address, &il);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct code_image image;
    const uint64_t pointers[] = {IMAGE_BASE + AT_MAP};
    const struct sn_memory_source source = {.read = code_image_read, .user = &image};
    struct sn_cursor cur = sn_cursor_over(data, size);
    uint32_t first = sn_cursor_u32(&cur);
    uint32_t version = (first & 1) + 1;
    const char *json = version == 1 ? CODE_CONTRACT("1") : CODE_CONTRACT("2");
    struct sn_runtime_memory runtime = {0};
    struct sn_code_map *map = NULL;
    code_image_make(&image, version);
    for (uint32_t word; sn_cursor_left(&cur) >= 4;) { /* a byte, and three of a place */
        word = sn_cursor_u32(&cur);
        image.bytes[(word >> 8) % IMAGE_SIZE] = (uint8_t)word;
    }
    if (sn_contract_new(&runtime.contract, NULL) == SONDE_OK &&
        sn_contract_add(runtime.contract, json, strlen(json), pointers, 1, NULL) == SONDE_OK &&
        sn_memory_of_source(&source, NULL, 0, &runtime.memory, NULL) == SONDE_OK &&
        sn_code_map_new(&runtime, &map, NULL) == SONDE_OK)
        check(map, IMAGE_BASE + (first >> 1) % IMAGE_SIZE);
    if (image.reads > READS_MAX)
        abort();
    sn_code_map_free(map);
    sn_memory_free(runtime.memory);
    sn_contract_free(runtime.contract);
    return 0;
}
