/* Any bytes as columns of the store: a chunk, a block, methods, a call tree. Reading ends, stays
 * within its bounds, and what was read is written and read again as the same. */
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sink/store/store_chunk.h"
#include "sink/store/store_profile.h"

static void check_chunk(struct sn_store_packer *packer, const uint8_t *data, size_t size)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1u << 20);
    struct sn_store_columns columns;
    struct sn_store_columns again;
    if (sn_store_chunk_decode(packer, data, size, &columns, NULL) != SONDE_OK)
        return;
    if (sn_store_chunk_encode(packer, &columns, &out, NULL) != SONDE_OK ||
        sn_store_chunk_decode(packer, out.bytes, out.size, &again, NULL) != SONDE_OK)
        abort();
    if (columns.count != again.count || columns.width != again.width ||
        memcmp(columns.times_ms, again.times_ms, columns.count * sizeof(uint64_t)) != 0 ||
        memcmp(columns.values, again.values, columns.count * sizeof(double)) != 0)
        abort();
}

static void check_block(struct sn_store_packer *packer, const uint8_t *data, size_t size)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(8u << 20);
    SN_AUTO(sn_free) struct sn_store_entry *entries = NULL;
    SN_AUTO(sn_free) struct sn_store_entry *again = NULL;
    size_t count = 0;
    size_t count_again = 0;
    if (sn_store_chunk_decode_block(packer, data, size, &entries, &count, NULL) != SONDE_OK)
        return;
    if (sn_store_chunk_encode_block(packer, entries, count, &out, NULL) != SONDE_OK ||
        sn_store_chunk_decode_block(packer, out.bytes, out.size, &again, &count_again, NULL) !=
            SONDE_OK ||
        count != count_again || memcmp(entries, again, count * sizeof(*entries)) != 0)
        abort();
}

static void check_profile(struct sn_store_packer *packer, const uint8_t *data, size_t size)
{
    SN_AUTO(sn_store_methods_read_done) struct sn_store_methods_read methods = {0};
    struct sn_store_nodes_read read = {0};
    if (sn_store_profile_decode_methods(packer, data, size, &methods, NULL) == SONDE_OK)
        for (size_t i = 0; i < methods.count; i++)
            if (strlen(methods.methods[i].name) > 4096 || strlen(methods.methods[i].module) > 4096)
                abort();
    if (sn_store_profile_decode_nodes(packer, data, size, 100, &read, NULL) == SONDE_OK)
        for (size_t i = 0; i < read.count; i++)
            if ((i && read.nodes[i].parent >= i) ||
                (read.nodes[i].method != UINT32_MAX && read.nodes[i].method >= 100))
                abort();
    free(read.nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SN_AUTO(sn_store_packer_done) struct sn_store_packer packer = {0};
    check_chunk(&packer, data, size);
    check_block(&packer, data, size);
    check_profile(&packer, data, size);
    return 0;
}
