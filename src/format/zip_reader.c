#include "format/zip_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"
#include "format/zip_layout.h"

#define MEMBERS_MAX   4096u
#define DIRECTORY_MAX (4u << 20)
#define COMMENT_MAX   65535u
#define IN_SIZE       65536u
#define READ_STEP     4096u
#define BEST_RATIO    1032u /* deflate cannot do better */

struct sn_zip {
    int fd;
    const char *path; /* owns */
    uint64_t size;
    uint8_t *directory; /* owns; names are ended by zeros in here */
    struct sn_zip_member *members;
    size_t count;
    bool is_cut;
};

struct sn_zip_stream {
    const struct sn_zip *zip;
    struct sn_zip_member member;
    uint64_t at;   /* next packed byte in the file */
    uint64_t left; /* packed bytes not read yet */
    uint64_t made;
    uint32_t crc;
    bool has_inflate;
    bool has_ended; /* deflate's own end was there */
    z_stream inflate;
    uint8_t in[IN_SIZE];
};

/* Where the directory is. */
struct bounds {
    uint64_t start;
    uint64_t size;
    uint64_t count;
};

static bool read_at(int fd, uint8_t *to, size_t size, uint64_t offset)
{
    while (size) {
        ssize_t got = pread(fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

static int damaged(const struct sn_zip *zip, uint64_t offset, struct sonde_error *err,
                   const char *what)
{
    return sn_fail(err, SONDE_E_FORMAT, offset, "'%s' is a damaged zip file: %s", zip->path, what);
}

/* The directory's place stands elsewhere when it does not fit into 32 bits. */
static bool find_end64(const struct sn_zip *zip, uint64_t end_offset, struct bounds *bounds)
{
    uint8_t locator[SN_ZIP_LOCATOR64_SIZE];
    uint8_t end[SN_ZIP_END64_SIZE];
    if (end_offset < sizeof(locator) ||
        !read_at(zip->fd, locator, sizeof(locator), end_offset - sizeof(locator)))
        return false;
    struct sn_cursor cur = sn_cursor_over(locator, sizeof(locator));
    if (sn_cursor_u32(&cur) != SN_ZIP_LOCATOR64_MARK)
        return false;
    sn_cursor_skip(&cur, 4);
    uint64_t at = sn_cursor_u64(&cur);
    if (at > zip->size || !read_at(zip->fd, end, sizeof(end), at))
        return false;
    cur = sn_cursor_over(end, sizeof(end));
    if (sn_cursor_u32(&cur) != SN_ZIP_END64_MARK)
        return false;
    sn_cursor_skip(&cur, 28);
    bounds->count = sn_cursor_u64(&cur);
    bounds->size = sn_cursor_u64(&cur);
    bounds->start = sn_cursor_u64(&cur);
    return true;
}

/* The end record is the last thing in the file but for a comment, which may look like one. */
static bool find_mark(const struct sn_zip *zip, const uint8_t *tail, size_t size,
                      struct bounds *bounds)
{
    for (size_t at = size - SN_ZIP_END_SIZE + 1; at-- > 0;) {
        struct sn_cursor cur = sn_cursor_over(tail + at, SN_ZIP_END_SIZE);
        if (sn_cursor_u32(&cur) != SN_ZIP_END_MARK)
            continue;
        sn_cursor_skip(&cur, 6);
        bounds->count = sn_cursor_u16(&cur);
        bounds->size = sn_cursor_u32(&cur);
        bounds->start = sn_cursor_u32(&cur);
        if (sn_cursor_u16(&cur) != size - at - SN_ZIP_END_SIZE)
            continue;
        bool is_64 = bounds->start == SN_ZIP_IN_EXTRA || bounds->count == SN_ZIP_IN_EXTRA16;
        return !is_64 || find_end64(zip, zip->size - size + at, bounds);
    }
    return false;
}

static bool find_end(const struct sn_zip *zip, struct bounds *bounds)
{
    size_t most = SN_ZIP_END_SIZE + COMMENT_MAX;
    size_t size = zip->size < most ? (size_t)zip->size : most;
    SN_AUTO(sn_free) uint8_t *tail = malloc(most);
    if (!tail || size < SN_ZIP_END_SIZE || !read_at(zip->fd, tail, size, zip->size - size))
        return false;
    return find_mark(zip, tail, size, bounds);
}

/* Sizes and offset of 64 bits, those that the fixed part points here for, in this order. */
static bool read_extra(const uint8_t *bytes, size_t size, struct sn_zip_member *member)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    while (!cur.bad && sn_cursor_left(&cur) >= 4) {
        uint16_t kind = sn_cursor_u16(&cur);
        uint16_t length = sn_cursor_u16(&cur);
        const uint8_t *body = sn_cursor_bytes(&cur, length);
        if (!body || kind != SN_ZIP_EXTRA64)
            continue;
        struct sn_cursor inner = sn_cursor_over(body, length);
        if (member->size == SN_ZIP_IN_EXTRA)
            member->size = sn_cursor_u64(&inner);
        if (member->packed == SN_ZIP_IN_EXTRA)
            member->packed = sn_cursor_u64(&inner);
        if (member->offset == SN_ZIP_IN_EXTRA)
            member->offset = sn_cursor_u64(&inner);
        return !inner.bad;
    }
    return !cur.bad;
}

/* The facts that a head and a directory entry have in common, from the flags on. */
static void read_facts(struct sn_cursor *cur, struct sn_zip_member *member)
{
    member->is_encrypted = sn_cursor_u16(cur) & SN_ZIP_FLAG_ENCRYPTED;
    member->method = sn_cursor_u16(cur);
    sn_cursor_skip(cur, 4); /* time */
    member->crc = sn_cursor_u32(cur);
    member->packed = sn_cursor_u32(cur);
    member->size = sn_cursor_u32(cur);
}

/* A zero behind the name overwrites the first byte of what follows, which has been read by then. */
static bool read_entry(struct sn_cursor *cur, struct sn_zip_member *member, char **ret_name_end)
{
    if (sn_cursor_u32(cur) != SN_ZIP_CENTRAL_MARK)
        return false;
    sn_cursor_skip(cur, 4); /* versions */
    read_facts(cur, member);
    uint16_t name_size = sn_cursor_u16(cur);
    uint16_t extra_size = sn_cursor_u16(cur);
    uint16_t comment_size = sn_cursor_u16(cur);
    sn_cursor_skip(cur, 8);
    member->offset = sn_cursor_u32(cur);
    const uint8_t *name = sn_cursor_bytes(cur, name_size);
    const uint8_t *extra = sn_cursor_bytes(cur, extra_size);
    (void)sn_cursor_bytes(cur, comment_size);
    if (cur->bad || !name_size || memchr(name, 0, name_size))
        return false;
    member->name = (const char *)name;
    *ret_name_end = (char *)(uintptr_t)(name + name_size);
    return read_extra(extra, extra_size, member);
}

static int read_entries(struct sn_zip *zip, const struct bounds *bounds, struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(zip->directory, (size_t)bounds->size);
    char *name_end = NULL;
    for (size_t i = 0; i < bounds->count; i++) {
        struct sn_zip_member *member = &zip->members[i];
        char *last_end = name_end;
        if (!read_entry(&cur, member, &name_end))
            return damaged(zip, bounds->start, err, "its directory");
        if (last_end)
            *last_end = '\0';
        zip->count++;
    }
    if (name_end)
        *name_end = '\0'; /* the directory has one byte more than it needs */
    return SONDE_OK;
}

static int read_directory(struct sn_zip *zip, const struct bounds *bounds, struct sonde_error *err)
{
    if (bounds->count > MEMBERS_MAX || bounds->size > DIRECTORY_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "'%s' has more members than we read (%u)", zip->path,
                       MEMBERS_MAX);
    if (bounds->start > zip->size || bounds->size > zip->size - bounds->start ||
        bounds->count * SN_ZIP_CENTRAL_SIZE > bounds->size)
        return damaged(zip, 0, err, "its directory lies outside");
    zip->directory = malloc((size_t)bounds->size + 1);
    zip->members = calloc((size_t)bounds->count + 1, sizeof(*zip->members));
    if (!zip->directory || !zip->members)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for '%s'", zip->path);
    if (!read_at(zip->fd, zip->directory, (size_t)bounds->size, bounds->start))
        return damaged(zip, bounds->start, err, "its directory cannot be read");
    return read_entries(zip, bounds, err);
}

/* Reads the head of a member; its packed bytes begin behind it. */
static bool read_head(const struct sn_zip *zip, uint64_t offset, struct sn_zip_member *ret_head,
                      char name[SN_ZIP_NAME_MAX], uint64_t *ret_data)
{
    uint8_t head[SN_ZIP_LOCAL_SIZE];
    uint8_t rest[SN_ZIP_NAME_MAX + 512];
    *ret_head = (struct sn_zip_member){.offset = offset};
    if (offset > zip->size || !read_at(zip->fd, head, sizeof(head), offset))
        return false;
    struct sn_cursor cur = sn_cursor_over(head, sizeof(head));
    if (sn_cursor_u32(&cur) != SN_ZIP_LOCAL_MARK)
        return false;
    sn_cursor_skip(&cur, 2);
    read_facts(&cur, ret_head);
    size_t name_size = sn_cursor_u16(&cur);
    size_t extra_size = sn_cursor_u16(&cur);
    *ret_data = offset + sizeof(head) + name_size + extra_size;
    if (!name_size || name_size >= SN_ZIP_NAME_MAX || name_size + extra_size > sizeof(rest) ||
        !read_at(zip->fd, rest, name_size + extra_size, offset + sizeof(head)))
        return false;
    memcpy(name, rest, name_size);
    name[name_size] = '\0';
    return !memchr(rest, 0, name_size) && read_extra(rest + name_size, extra_size, ret_head);
}

/* Without a directory the first member tells of itself. Its sizes count only if they were written:
 * a member that was being packed has none yet. */
static int salvage(struct sn_zip *zip, struct sonde_error *err)
{
    char name[SN_ZIP_NAME_MAX];
    uint64_t data;
    zip->members = calloc(1, sizeof(*zip->members));
    if (!zip->members)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for '%s'", zip->path);
    struct sn_zip_member *member = &zip->members[0];
    if (!read_head(zip, 0, member, name, &data) || data > zip->size)
        return sn_fail(err, SONDE_E_TRUNCATED, zip->size,
                       "'%s' is a zip file that is cut: it has no directory", zip->path);
    zip->directory = (uint8_t *)strdup(name);
    if (!zip->directory)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for '%s'", zip->path);
    member->name = (const char *)zip->directory;
    if (!member->packed || member->packed > zip->size - data)
        member->packed = zip->size - data;
    zip->count = 1;
    zip->is_cut = true;
    return SONDE_OK;
}

int sn_zip_open(int fd, const char *path, struct sn_zip **ret_zip, struct sonde_error *err)
{
    SN_AUTO(sn_zip_free) struct sn_zip *zip = calloc(1, sizeof(*zip));
    struct bounds bounds = {0};
    struct stat status;
    if (!zip || !(zip->path = strdup(path)))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for '%s'", path);
    if (fstat(fd, &status) != 0)
        return sn_fail_errno(err, "cannot read '%s'", path);
    zip->fd = fd;
    zip->size = (uint64_t)status.st_size;
    int rc = find_end(zip, &bounds) ? read_directory(zip, &bounds, err) : salvage(zip, err);
    if (rc == SONDE_OK)
        *ret_zip = SN_TAKE(zip);
    return rc;
}

void sn_zip_free(struct sn_zip *zip)
{
    if (!zip)
        return;
    free(zip->directory);
    free(zip->members);
    free((char *)(uintptr_t)zip->path);
    free(zip);
}

bool sn_zip_is_cut(const struct sn_zip *zip)
{
    return zip->is_cut;
}

size_t sn_zip_count(const struct sn_zip *zip)
{
    return zip->count;
}

const struct sn_zip_member *sn_zip_member(const struct sn_zip *zip, size_t index)
{
    return &zip->members[index];
}

const struct sn_zip_member *sn_zip_find(const struct sn_zip *zip, const char *name)
{
    for (size_t i = 0; i < zip->count; i++) {
        if (strcmp(zip->members[i].name, name) == 0)
            return &zip->members[i];
    }
    return NULL;
}

/* A cut member may end anywhere, but begins where it should. */
static int check_member(const struct sn_zip *zip, const struct sn_zip_member *member, uint64_t data,
                        struct sonde_error *err)
{
    if (member->is_encrypted)
        return sn_fail(err, SONDE_E_UNSUPPORTED, data, "'%s' in '%s' is encrypted", member->name,
                       zip->path);
    if (member->method != SN_ZIP_STORED && member->method != SN_ZIP_DEFLATED)
        return sn_fail(err, SONDE_E_UNSUPPORTED, data,
                       "'%s' in '%s' is packed by a method that we do not have (%u)", member->name,
                       zip->path, member->method);
    if (data > zip->size || member->packed > zip->size - data)
        return damaged(zip, data, err, "a member lies outside");
    if (zip->is_cut)
        return SONDE_OK;
    if (member->size / BEST_RATIO > member->packed + 1 ||
        (member->method == SN_ZIP_STORED && member->size != member->packed))
        return damaged(zip, data, err, "a member announces more than it can hold");
    return SONDE_OK;
}

int sn_zip_stream_new(const struct sn_zip *zip, const struct sn_zip_member *member,
                      struct sn_zip_stream **ret_stream, struct sonde_error *err)
{
    struct sn_zip_member head;
    char name[SN_ZIP_NAME_MAX];
    uint64_t data;
    if (!read_head(zip, member->offset, &head, name, &data))
        return damaged(zip, member->offset, err, "a member has no head");
    int rc = check_member(zip, member, data, err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sn_zip_stream_free) struct sn_zip_stream *stream = calloc(1, sizeof(*stream));
    if (!stream || inflateInit2(&stream->inflate, SN_ZIP_RAW_WINDOW) != Z_OK)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for '%s'", zip->path);
    stream->has_inflate = true;
    stream->zip = zip;
    stream->member = *member;
    stream->at = data;
    stream->left = member->packed;
    *ret_stream = SN_TAKE(stream);
    return SONDE_OK;
}

void sn_zip_stream_free(struct sn_zip_stream *stream)
{
    if (!stream)
        return;
    if (stream->has_inflate)
        (void)inflateEnd(&stream->inflate); /* cannot fail on a stream that was begun */
    free(stream);
}

/* Up to `size` packed bytes; 0: there are no more. */
static size_t read_packed(struct sn_zip_stream *stream, uint8_t *to, size_t size)
{
    size_t want = stream->left < size ? (size_t)stream->left : size;
    if (!want || !read_at(stream->zip->fd, to, want, stream->at))
        return 0;
    stream->at += want;
    stream->left -= want;
    return want;
}

static int unpack(struct sn_zip_stream *stream, uint8_t *to, size_t size, size_t *ret_got,
                  struct sonde_error *err)
{
    z_stream *zip = &stream->inflate;
    zip->next_out = to;
    zip->avail_out = (uInt)size;
    while (zip->avail_out && !stream->has_ended) {
        if (!zip->avail_in) {
            zip->next_in = stream->in;
            zip->avail_in = (uInt)read_packed(stream, stream->in, IN_SIZE);
        }
        int rc = inflate(zip, Z_NO_FLUSH);
        stream->has_ended = rc == Z_STREAM_END;
        if (rc == Z_BUF_ERROR)
            break; /* neither has it more in itself nor is there more to read */
        if (rc != Z_OK && rc != Z_STREAM_END)
            return damaged(stream->zip, stream->at, err, "a member cannot be unpacked");
    }
    *ret_got = size - zip->avail_out;
    return SONDE_OK;
}

static int check_end(struct sn_zip_stream *stream, struct sonde_error *err)
{
    const struct sn_zip_member *member = &stream->member;
    bool is_whole = member->method == SN_ZIP_STORED ? !stream->left : stream->has_ended;
    if (!is_whole || (!stream->zip->is_cut && stream->made < member->size))
        return sn_fail(err, SONDE_E_TRUNCATED, stream->at, "'%s' in '%s' ends early", member->name,
                       stream->zip->path);
    if (!stream->zip->is_cut && stream->crc != member->crc)
        return damaged(stream->zip, stream->at, err, "a member's checksum is wrong");
    return SONDE_OK;
}

int sn_zip_stream_read(struct sn_zip_stream *stream, void *to, size_t size, size_t *ret_got,
                       struct sonde_error *err)
{
    const struct sn_zip_member *member = &stream->member;
    int rc = SONDE_OK;
    *ret_got = 0;
    if (size > IN_SIZE)
        size = IN_SIZE;
    if (member->method == SN_ZIP_STORED)
        *ret_got = read_packed(stream, to, size);
    else
        rc = unpack(stream, to, size, ret_got, err);
    if (rc != SONDE_OK)
        return rc;
    stream->made += *ret_got;
    if (!stream->zip->is_cut && stream->made > member->size)
        return damaged(stream->zip, stream->at, err, "a member is larger than announced");
    stream->crc = (uint32_t)crc32_z(stream->crc, to, *ret_got);
    return *ret_got ? SONDE_OK : check_end(stream, err);
}

int sn_zip_read(const struct sn_zip *zip, const struct sn_zip_member *member, struct sn_buf *to,
                struct sonde_error *err)
{
    SN_AUTO(sn_zip_stream_free) struct sn_zip_stream *stream = NULL;
    int rc = sn_zip_stream_new(zip, member, &stream, err);
    size_t got = 1;
    while (rc == SONDE_OK && stream && got) {
        size_t left = to->limit - to->size;
        size_t step = left < READ_STEP ? left : READ_STEP;
        uint8_t *at = sn_buf_reserve(to, step ? step : 1);
        if (!at)
            return sn_fail(err, SONDE_E_LIMIT, 0, "'%s' in '%s' is over %zu bytes", member->name,
                           zip->path, to->limit);
        rc = sn_zip_stream_read(stream, at, step, &got, err);
        if (rc == SONDE_OK)
            sn_buf_grow(to, got);
    }
    return rc;
}
