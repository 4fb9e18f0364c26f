#include "format/zip_writer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/zip_layout.h"

#define OUT_SIZE      65536u
#define LEVEL         3 /* on recordings twice as fast as 5 and 6 % larger: somebody waits for it */
#define MEMORY_LEVEL  8
#define DIRECTORY_MAX (16u << 20)
#define LARGE         (UINT64_C(0xFFFFFFFF) - (64u << 20)) /* deflate may enlarge a little */
#define EXTRA64_SIZE  20u                                  /* of a member's head */
#define VERSION_20    20u
#define VERSION_45    45u /* 64-bit sizes */
#define MADE_BY_UNIX  (3u << 8 | VERSION_45)
#define MODE_FILE     (0100644u << 16)

struct member {
    char name[SN_ZIP_NAME_MAX];
    uint64_t offset;
    uint64_t size;
    uint64_t packed;
    uint32_t crc;
    bool is_large;
};

struct sn_zip_writer {
    int fd;
    uint32_t dos_time; /* date in the high half */
    uint64_t offset;
    uint64_t count;
    struct sn_buf directory;
    struct sn_buf scratch;
    struct member member; /* the one being written */
    bool has_deflate;
    z_stream deflate;
    uint8_t out[OUT_SIZE];
};

/* Years before 1980 cannot be told, two seconds are the finest step. */
static uint32_t dos_time(uint64_t utc_ns)
{
    time_t seconds = (time_t)(utc_ns / 1000000000u);
    struct tm tm = {0};
    if (!gmtime_r(&seconds, &tm) || tm.tm_year < 80)
        return 1u << 21 | 1u << 16; /* 1980-01-01 */
    uint32_t date =
        (uint32_t)(tm.tm_year - 80) << 9 | (uint32_t)(tm.tm_mon + 1) << 5 | (uint32_t)tm.tm_mday;
    uint32_t time_of_day =
        (uint32_t)tm.tm_hour << 11 | (uint32_t)tm.tm_min << 5 | (uint32_t)tm.tm_sec / 2;
    return date << 16 | time_of_day;
}

int sn_zip_writer_new(int fd, uint64_t utc_ns, struct sn_zip_writer **ret_writer,
                      struct sonde_error *err)
{
    SN_AUTO(sn_zip_writer_free) struct sn_zip_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a zip file");
    writer->fd = fd;
    writer->dos_time = dos_time(utc_ns);
    writer->directory = sn_buf_with_limit(DIRECTORY_MAX);
    writer->scratch = sn_buf_with_limit(SN_ZIP_NAME_MAX + 256);
    if (deflateInit2(&writer->deflate, LEVEL, Z_DEFLATED, SN_ZIP_RAW_WINDOW, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a zip file");
    writer->has_deflate = true;
    *ret_writer = SN_TAKE(writer);
    return SONDE_OK;
}

void sn_zip_writer_free(struct sn_zip_writer *writer)
{
    if (!writer)
        return;
    if (writer->has_deflate)
        (void)deflateEnd(&writer->deflate); /* complains when a member was not ended */
    sn_buf_done(&writer->directory);
    sn_buf_done(&writer->scratch);
    free(writer);
}

static int put(struct sn_zip_writer *writer, const void *bytes, size_t size,
               struct sonde_error *err)
{
    int rc = sn_file_write_all(writer->fd, bytes, size, err);
    if (rc == SONDE_OK)
        writer->offset += size;
    return rc;
}

/* The part that a member's head and its entry in the directory have in common. */
static void add_facts(const struct sn_zip_writer *writer, struct sn_buf *to, bool is_64,
                      uint16_t extra_size)
{
    const struct member *member = &writer->member;
    sn_buf_u16(to, is_64 ? VERSION_45 : VERSION_20);
    sn_buf_u16(to, SN_ZIP_FLAG_UTF8);
    sn_buf_u16(to, SN_ZIP_DEFLATED);
    sn_buf_u32(to, writer->dos_time);
    sn_buf_u32(to, member->crc);
    sn_buf_u32(to, is_64 ? SN_ZIP_IN_EXTRA : (uint32_t)member->packed);
    sn_buf_u32(to, is_64 ? SN_ZIP_IN_EXTRA : (uint32_t)member->size);
    sn_buf_u16(to, (uint16_t)strlen(member->name));
    sn_buf_u16(to, extra_size);
}

static void add_head(struct sn_zip_writer *writer, struct sn_buf *to)
{
    const struct member *member = &writer->member;
    sn_buf_clear(to);
    sn_buf_u32(to, SN_ZIP_LOCAL_MARK);
    add_facts(writer, to, member->is_large, member->is_large ? EXTRA64_SIZE : 0);
    sn_buf_text(to, member->name);
    if (!member->is_large)
        return;
    sn_buf_u16(to, SN_ZIP_EXTRA64);
    sn_buf_u16(to, EXTRA64_SIZE - 4);
    sn_buf_u64(to, member->size);
    sn_buf_u64(to, member->packed);
}

int sn_zip_writer_begin(struct sn_zip_writer *writer, const char *name, uint64_t most,
                        struct sonde_error *err)
{
    struct member *member = &writer->member;
    size_t size = strlen(name);
    if (size >= sizeof(member->name))
        return sn_fail(err, SONDE_E_LIMIT, 0, "the name of a zip member is too long");
    *member = (struct member){.offset = writer->offset, .is_large = most > LARGE};
    memcpy(member->name, name, size);
    (void)deflateReset(&writer->deflate);
    add_head(writer, &writer->scratch);
    return put(writer, writer->scratch.bytes, writer->scratch.size, err);
}

static int pack(struct sn_zip_writer *writer, int flush, struct sonde_error *err)
{
    z_stream *zip = &writer->deflate;
    do {
        zip->next_out = writer->out;
        zip->avail_out = OUT_SIZE;
        (void)deflate(zip, flush); /* has room: it can only go on or be done */
        size_t made = OUT_SIZE - zip->avail_out;
        int rc = put(writer, writer->out, made, err);
        if (rc != SONDE_OK)
            return rc;
        writer->member.packed += made;
    } while (zip->avail_out == 0);
    return SONDE_OK;
}

int sn_zip_writer_write(struct sn_zip_writer *writer, const void *bytes, size_t size,
                        struct sonde_error *err)
{
    struct member *member = &writer->member;
    if (size > LARGE - (member->is_large ? 0 : member->size) || size > UINT32_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "'%s' is larger than was told", member->name);
    member->crc = (uint32_t)crc32_z(member->crc, bytes, size);
    member->size += size;
    writer->deflate.next_in = (z_const Bytef *)bytes;
    writer->deflate.avail_in = (uInt)size;
    return pack(writer, Z_NO_FLUSH, err);
}

static void add_entry(struct sn_zip_writer *writer)
{
    const struct member *member = &writer->member;
    struct sn_buf *to = &writer->directory;
    bool is_64 = member->is_large;
    bool is_far = member->offset >= SN_ZIP_IN_EXTRA;
    uint16_t inner = (uint16_t)((is_64 ? 16 : 0) + (is_far ? 8 : 0));
    sn_buf_u32(to, SN_ZIP_CENTRAL_MARK);
    sn_buf_u16(to, MADE_BY_UNIX);
    add_facts(writer, to, is_64, inner ? (uint16_t)(inner + 4) : 0);
    sn_buf_fill(to, 0, 6); /* comment, disk, kind */
    sn_buf_u32(to, MODE_FILE);
    sn_buf_u32(to, is_far ? SN_ZIP_IN_EXTRA : (uint32_t)member->offset);
    sn_buf_text(to, member->name);
    if (!inner)
        return;
    sn_buf_u16(to, SN_ZIP_EXTRA64);
    sn_buf_u16(to, inner);
    if (is_64) {
        sn_buf_u64(to, member->size);
        sn_buf_u64(to, member->packed);
    }
    if (is_far)
        sn_buf_u64(to, member->offset);
}

int sn_zip_writer_end(struct sn_zip_writer *writer, struct sonde_error *err)
{
    struct sn_buf *head = &writer->scratch;
    writer->deflate.avail_in = 0;
    int rc = pack(writer, Z_FINISH, err);
    if (rc != SONDE_OK)
        return rc;
    add_head(writer, head); /* again, now that the sizes are known */
    ssize_t wrote;
    do
        wrote = pwrite(writer->fd, head->bytes, head->size, (off_t)writer->member.offset);
    while (wrote < 0 && errno == EINTR);
    if (wrote != (ssize_t)head->size)
        return sn_fail_errno(err, "cannot write a zip file");
    add_entry(writer);
    writer->count++;
    return SONDE_OK;
}

static void add_end64(const struct sn_zip_writer *writer, struct sn_buf *to, uint64_t start,
                      uint64_t size)
{
    sn_buf_u32(to, SN_ZIP_END64_MARK);
    sn_buf_u64(to, SN_ZIP_END64_SIZE - 12);
    sn_buf_u16(to, MADE_BY_UNIX);
    sn_buf_u16(to, VERSION_45);
    sn_buf_u64(to, 0); /* disks */
    sn_buf_u64(to, writer->count);
    sn_buf_u64(to, writer->count);
    sn_buf_u64(to, size);
    sn_buf_u64(to, start);
    sn_buf_u32(to, SN_ZIP_LOCATOR64_MARK);
    sn_buf_u32(to, 0);
    sn_buf_u64(to, start + size);
    sn_buf_u32(to, 1);
}

int sn_zip_writer_finish(struct sn_zip_writer *writer, struct sonde_error *err)
{
    struct sn_buf *to = &writer->directory;
    uint64_t start = writer->offset;
    uint64_t size = to->size;
    bool is_64 = start >= SN_ZIP_IN_EXTRA || writer->count >= SN_ZIP_IN_EXTRA16;
    uint16_t count = is_64 ? SN_ZIP_IN_EXTRA16 : (uint16_t)writer->count;
    if (is_64)
        add_end64(writer, to, start, size);
    sn_buf_u32(to, SN_ZIP_END_MARK);
    sn_buf_u32(to, 0); /* disks */
    sn_buf_u16(to, count);
    sn_buf_u16(to, count);
    sn_buf_u32(to, (uint32_t)size);
    sn_buf_u32(to, is_64 ? SN_ZIP_IN_EXTRA : (uint32_t)start);
    sn_buf_u16(to, 0); /* no comment */
    if (to->failed)
        return sn_fail(err, SONDE_E_LIMIT, 0, "too many members for a zip file");
    return put(writer, to->bytes, to->size, err);
}

uint64_t sn_zip_writer_bytes(const struct sn_zip_writer *writer)
{
    return writer->offset;
}
