/* Any bytes as a core file whose memory is read: mappings are in order, what is read twice is the
 * same, and looking for threads and for the runtime's version ends. */
#include "source/memory/core_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own.h"
#include "format/elf_core.h"
#include "sonde/error.h"
#include "source/memory/memory.h"
#include "source/memory/runtime_version.h"
#include "source/memory/thread_state.h"

#define MAPS_LOOKED_AT 8u

static void check_read(struct sn_memory *memory, uint64_t address)
{
    uint8_t once[64];
    uint8_t twice[64];
    size_t now = sn_memory_read_now(memory, address, twice, sizeof(twice));
    if (now > sizeof(twice))
        abort();
    if (sn_memory_read(memory, address, once, sizeof(once)) &&
        (now != sizeof(twice) || memcmp(once, twice, sizeof(once)) != 0))
        abort();
}

static void check_maps(struct sn_memory *memory)
{
    for (size_t i = 0; i < sn_memory_map_count(memory); i++) {
        const struct sn_memory_map *map = sn_memory_map_at(memory, i);
        if (map->end <= map->start || (i && map->start < map[-1].end) ||
            sn_memory_map_of(memory, map->start) != map)
            abort();
        if (i >= MAPS_LOOKED_AT)
            continue;
        struct sn_runtime_version version = {0};
        check_read(memory, map->start);
        check_read(memory, map->end - 32);
        if (sn_runtime_version_find(memory, map->start, &version) &&
            (!version.major || !memchr(version.text, 0, sizeof(version.text))))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    const struct sn_elf_core *core = NULL;
    SN_AUTO(sn_memory_free) struct sn_memory *memory = NULL;
    SN_AUTO(sn_close) int fd = memfd_create("core", MFD_CLOEXEC);
    if (fd < 0 || sn_file_write_all(fd, data, size, NULL) != SONDE_OK)
        abort();
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (sn_core_memory_open(path, &memory, &core, NULL) != SONDE_OK)
        return 0;
    check_maps(memory);
    for (size_t i = 0; i < core->thread_count; i++) {
        struct sn_thread_state state;
        sn_core_memory_thread(memory, core, i, &state);
        sn_thread_state_done(&state);
    }
    return 0;
}
