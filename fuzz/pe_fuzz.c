/* Any bytes as a .dll, and as a PDB packed into one: a status comes back, what is asked of the file
 * lies in it, and unpacking stays below its ceiling. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "format/pe.h"

#define UNPACKED_LIMIT (1u << 20)

struct file {
    const uint8_t *bytes;
    size_t size;
    unsigned reads;
};

static bool read_bytes(void *user, uint64_t offset, void *to, size_t size)
{
    struct file *file = user;
    if (file->reads++ > 1024)
        abort(); /* no input makes it read on and on */
    if (offset > file->size || size > file->size - offset)
        return false;
    memcpy(to, file->bytes + offset, size);
    return true;
}

static void unpack(const uint8_t *bytes, size_t size)
{
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(UNPACKED_LIMIT);
    struct sonde_error err = {0};
    int rc = sn_pe_unpack(bytes, size, &to, &err);
    if ((rc == SONDE_OK) != !err.text[0] || (rc != SONDE_OK && to.size))
        abort();
}

static void find_metadata(struct file *file)
{
    struct sonde_error err = {0};
    uint64_t offset = 0;
    uint32_t size = 0;
    int rc = sn_pe_find_metadata(read_bytes, file, &offset, &size, &err);
    if ((rc == SONDE_OK) != !err.text[0])
        abort();
    file->reads = 0;
}

static void read_image(struct file *file, enum sn_pe_layout layout)
{
    struct sonde_error err = {0};
    struct sn_pe_image image = {0};
    int rc = sn_pe_read_image(read_bytes, file, layout, &image, &err);
    if ((rc == SONDE_OK) != !err.text[0] || image.layout == SN_PE_EITHER ||
        (rc == SONDE_OK && image.metadata_offset > file->size - 4))
        abort();
    file->reads = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct file file = {data, size, 0};
    struct sn_pe_debug debug = {0};
    struct sonde_error err = {0};
    unpack(data, size);
    find_metadata(&file);
    read_image(&file, SN_PE_FLAT);
    read_image(&file, SN_PE_MAPPED);
    read_image(&file, SN_PE_EITHER);
    if (sn_pe_read_debug(read_bytes, &file, &debug, &err) != SONDE_OK) {
        if (!err.text[0])
            abort();
        return 0;
    }
    if (debug.embedded_offset < size && debug.embedded_size <= size - debug.embedded_offset)
        unpack(data + debug.embedded_offset, debug.embedded_size);
    return 0;
}
