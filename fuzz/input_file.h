/* The fuzzer's bytes as a file that is read through a callback (format/elf.h), with an end to how
 * often. */
#ifndef FUZZ_INPUT_FILE_H
#define FUZZ_INPUT_FILE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct input_file {
    const uint8_t *bytes;
    size_t size;
    unsigned reads;
};

/* An sn_read_at_fn; `user` is the struct input_file. */
static inline size_t input_file_read(void *user, uint64_t offset, void *to, size_t size)
{
    struct input_file *file = user;
    if (file->reads++ > 1u << 20)
        abort(); /* no input of a few kilobytes makes it read on and on */
    if (offset >= file->size)
        return 0;
    size_t part = size < file->size - offset ? size : file->size - (size_t)offset;
    memcpy(to, file->bytes + offset, part);
    return part;
}

#endif
