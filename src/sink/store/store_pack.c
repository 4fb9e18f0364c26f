#include "sink/store/store_pack.h"

#include <zlib.h>
#include <zstd.h>

#include "base/cursor.h"
#include "base/err.h"

#define LEVEL                                                                          \
    1 /* deltas are small already: more effort gains a few percent for thrice the time \
       */

enum codec { CODEC_PLAIN = 0, CODEC_ZSTD = 1 };

void sn_store_packer_done(struct sn_store_packer *packer)
{
    (void)ZSTD_freeCCtx(packer->packing);
    (void)ZSTD_freeDCtx(packer->unpacking);
    *packer = (struct sn_store_packer){0};
}

static void put_header(struct sn_buf *out, uint8_t tag, enum codec codec, size_t size)
{
    sn_buf_u8(out, tag);
    sn_buf_u8(out, (uint8_t)codec);
    sn_buf_varuint(out, size);
}

/* How many bytes zstd made of it, behind what is in `out`; 0: not worth it, or it failed. */
static size_t squeeze(struct sn_store_packer *packer, const struct sn_buf *raw, struct sn_buf *out)
{
    if (!packer->packing)
        packer->packing = ZSTD_createCCtx();
    uint8_t *to = packer->packing ? sn_buf_reserve(out, raw->size) : NULL;
    if (!to)
        return 0;
    size_t size = ZSTD_compressCCtx(packer->packing, to, raw->size, raw->bytes, raw->size, LEVEL);
    return ZSTD_isError(size) || size >= raw->size ? 0 : size;
}

int sn_store_pack(struct sn_store_packer *packer, uint8_t tag, const struct sn_buf *raw,
                  struct sn_buf *out, struct sonde_error *err)
{
    size_t start = out->size;
    put_header(out, tag, CODEC_ZSTD, raw->size);
    size_t size = raw->size ? squeeze(packer, raw, out) : 0;
    if (size) {
        sn_buf_grow(out, size);
    } else {
        out->size = start;
        put_header(out, tag, CODEC_PLAIN, raw->size);
        sn_buf_append(out, raw->bytes, raw->size);
    }
    if (raw->failed || out->failed)
        return sn_fail(err, SONDE_E_LIMIT, 0, "the store: columns of %zu bytes are too long",
                       raw->size);
    return SONDE_OK;
}

static int damaged(struct sonde_error *err, const struct sn_cursor *cursor)
{
    return sn_fail(err, SONDE_E_FORMAT, sn_cursor_offset(cursor),
                   "the store: a chunk is damaged at byte %zu", sn_cursor_offset(cursor));
}

static int unsqueeze(struct sn_store_packer *packer, struct sn_cursor *cursor, uint8_t *to,
                     size_t size, struct sonde_error *err)
{
    if (!packer->unpacking)
        packer->unpacking = ZSTD_createDCtx();
    if (!packer->unpacking)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to unpack a chunk");
    size_t left = sn_cursor_left(cursor);
    size_t got = ZSTD_decompressDCtx(packer->unpacking, to, size, cursor->at, left);
    return ZSTD_isError(got) || got != size ? damaged(err, cursor) : SONDE_OK;
}

int sn_store_unpack(struct sn_store_packer *packer, uint8_t tag, const void *bytes, size_t size,
                    struct sn_buf *raw, struct sonde_error *err)
{
    struct sn_cursor cursor = sn_cursor_over(bytes, size);
    uint8_t found = sn_cursor_u8(&cursor);
    uint8_t codec = sn_cursor_u8(&cursor);
    uint64_t raw_size = sn_cursor_varuint64(&cursor);
    sn_buf_clear(raw);
    if (cursor.bad || found != tag || codec > CODEC_ZSTD || raw_size > raw->limit)
        return damaged(err, &cursor);
    if (codec == CODEC_PLAIN && raw_size != sn_cursor_left(&cursor))
        return damaged(err, &cursor);
    uint8_t *to = sn_buf_reserve(raw, raw_size ? raw_size : 1);
    if (!to)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to unpack a chunk");
    int rc = SONDE_OK;
    if (codec == CODEC_ZSTD)
        rc = unsqueeze(packer, &cursor, to, raw_size, err);
    else if (raw_size)
        memcpy(to, cursor.at, raw_size);
    if (rc == SONDE_OK)
        sn_buf_grow(raw, raw_size);
    return rc;
}

uint32_t sn_store_pack_checksum(const void *bytes, size_t size)
{
    return (uint32_t)crc32_z(0, bytes, size);
}
