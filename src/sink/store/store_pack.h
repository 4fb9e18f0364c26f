/* Columns in and out of zstd: a tag that says what they are, how they are packed, how long they
 * are, and the bytes. Reading expects anything. One thread a packer. */
#ifndef SN_STORE_PACK_H
#define SN_STORE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sonde/error.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/* zstd's working memory, made when first needed. */
struct sn_store_packer {
    struct ZSTD_CCtx_s *packing;
    struct ZSTD_DCtx_s *unpacking;
};
void sn_store_packer_done(struct sn_store_packer *packer);

static inline void sn_store_packer_done_auto(struct sn_store_packer *packer)
{
    sn_store_packer_done(packer);
}

/* Appends to `out`; as they are where zstd does not make them smaller. */
int sn_store_pack(struct sn_store_packer *packer, uint8_t tag, const struct sn_buf *raw,
                  struct sn_buf *out, struct sonde_error *err);

/* Fills `raw`, up to its limit. SONDE_E_FORMAT: it is something else, or damaged. */
int sn_store_unpack(struct sn_store_packer *packer, uint8_t tag, const void *bytes, size_t size,
                    struct sn_buf *raw, struct sonde_error *err);

/* Of a blob, as its row has it. */
uint32_t sn_store_pack_checksum(const void *bytes, size_t size);

#endif
