/* Any bytes as a core file: reading ends, and what is told is in order and within bounds. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "format/elf_core.h"
#include "input_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input_file file = {data, size, 0};
    const struct sn_read_at reader = {input_file_read, &file};
    struct sn_elf_core core;
    struct sonde_error err = {0};
    bool is_read = sn_elf_core_read(&reader, &core, &err) == SONDE_OK;
    for (size_t i = 0; is_read && i < core.segment_count; i++) {
        const struct sn_core_segment *segment = &core.segments[i];
        if (segment->end <= segment->start || segment->saved > segment->end - segment->start ||
            (i && segment->start < segment[-1].end))
            abort();
    }
    for (size_t i = 0; is_read && i < core.file_count; i++) {
        if (core.files[i].end <= core.files[i].start || strlen(core.files[i].path) > size)
            abort();
    }
    sn_elf_core_done(&core);
    return 0;
}
