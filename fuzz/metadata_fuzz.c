/* Any bytes as metadata: streams and blobs lie within them, numbers within their ranges. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "format/metadata.h"

static void check_inside(const uint8_t *data, size_t size, const uint8_t *bytes, size_t length)
{
    if (length && (bytes < data || length > size || bytes + length > data + size))
        abort();
}

static void check_numbers(const uint8_t *data, size_t size)
{
    struct sn_cursor cur = sn_cursor_over(data, size);
    struct sn_cursor again = cur;
    while (!cur.bad && sn_cursor_left(&cur)) {
        uint32_t number = sn_metadata_unsigned(&cur);
        int32_t folded = sn_metadata_signed(&again);
        if (number > 0x1FFFFFFF || folded < -0x10000000 || folded > 0x0FFFFFFF ||
            cur.at != again.at)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_metadata metadata = {0};
    struct sonde_error err = {0};
    check_numbers(data, size);
    if (sn_metadata_open(data, size, &metadata, &err) != SONDE_OK) {
        if (!err.text[0])
            abort();
        return 0;
    }
    uint8_t guid[16] = {0};
    if (sn_metadata_version_id(&metadata, guid) &&
        (metadata.guid.size < sizeof(guid) ||
         !memmem(metadata.guid.bytes, metadata.guid.size, guid, sizeof(guid))))
        abort();
    check_inside(data, size, metadata.guid.bytes, metadata.guid.size);
    check_inside(data, size, metadata.pdb.bytes, metadata.pdb.size);
    check_inside(data, size, metadata.rows.bytes, metadata.rows.size);
    for (uint32_t i = 0; i < metadata.blob.size && i < 4096; i++) {
        struct sn_cursor blob = sn_metadata_blob(&metadata, i);
        check_inside(data, size, blob.at, sn_cursor_left(&blob));
    }
    return 0;
}
