#include "symbol/version_id.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "format/metadata.h"
#include "format/pe.h"
#include "symbol/object_file.h"

#define METADATA_LIMIT (64u << 20) /* the largest that are known take some 10 MB */

static bool read_exactly(void *user, uint64_t offset, void *to, size_t size)
{
    return sn_object_file_read(user, offset, to, size) == size;
}

static bool find_in(const struct sn_object_file *file, size_t *budget, uint8_t guid[16])
{
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(METADATA_LIMIT);
    struct sonde_error ignored = {0};
    struct sn_metadata metadata = {0};
    uint64_t offset = 0;
    uint32_t size = 0;
    if (sn_pe_find_metadata(read_exactly, (void *)(uintptr_t)file, &offset, &size, &ignored) !=
            SONDE_OK ||
        size > *budget || size > file->size)
        return false;
    uint8_t *room = sn_buf_reserve(&bytes, size);
    *budget -= size;
    return room && sn_object_file_read(file, offset, room, size) == size &&
           sn_metadata_open(room, size, &metadata, &ignored) == SONDE_OK &&
           sn_metadata_version_id(&metadata, guid);
}

bool sn_version_id_read(uint32_t pid, const char *path, size_t *budget, uint8_t ret_guid[16])
{
    const struct sn_object_place place = {.pid = pid, .path = path};
    struct sn_object_file file = {.fd = -1};
    memset(ret_guid, 0, 16);
    if (!sn_object_file_open(&place, &file))
        return false;
    bool is_found = find_in(&file, budget, ret_guid);
    sn_object_file_close(&file);
    return is_found;
}
