/* Reads members of a zip file, stored or deflated, as streams. Nothing in the file is believed: the
 * directory has a ceiling, no member gives more than it announced, and none announces more than
 * deflate can make of its bytes. Names are for finding members, never for paths. Of a file that was
 * cut, the first member is left. One thread. */
#ifndef SN_ZIP_READER_H
#define SN_ZIP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_buf;
struct sn_zip;
struct sn_zip_stream;
struct sonde_error;

struct sn_zip_member {
    const char *name; /* borrows from the zip */
    uint64_t size;
    uint64_t packed;
    uint64_t offset; /* of its head */
    uint32_t crc;
    uint16_t method;
    bool is_encrypted;
};

/* `fd` is borrowed and read with pread only; `path` is for messages. */
int sn_zip_open(int fd, const char *path, struct sn_zip **ret_zip, struct sonde_error *err);
void sn_zip_free(struct sn_zip *zip);

static inline void sn_zip_free_auto(struct sn_zip **slot)
{
    sn_zip_free(*slot);
}

/* The file ends early: its directory is missing. */
bool sn_zip_is_cut(const struct sn_zip *zip);

size_t sn_zip_count(const struct sn_zip *zip);
const struct sn_zip_member *sn_zip_member(const struct sn_zip *zip, size_t index);
/* NULL: there is none of that name. */
const struct sn_zip_member *sn_zip_find(const struct sn_zip *zip, const char *name);

/* Appends a member, whole; SONDE_E_LIMIT when it does not fit `to`. */
int sn_zip_read(const struct sn_zip *zip, const struct sn_zip_member *member, struct sn_buf *to,
                struct sonde_error *err);

/* A member piece by piece; borrows the zip. */
int sn_zip_stream_new(const struct sn_zip *zip, const struct sn_zip_member *member,
                      struct sn_zip_stream **ret_stream, struct sonde_error *err);
void sn_zip_stream_free(struct sn_zip_stream *stream);

static inline void sn_zip_stream_free_auto(struct sn_zip_stream **slot)
{
    sn_zip_stream_free(*slot);
}

/* Fills `to` as far as there is something: 0 bytes is the end. A member that ends early, is damaged
 * or has the wrong checksum is SONDE_E_TRUNCATED or SONDE_E_FORMAT; what came before was given out.
 */
int sn_zip_stream_read(struct sn_zip_stream *stream, void *to, size_t size, size_t *ret_got,
                       struct sonde_error *err);

#endif
