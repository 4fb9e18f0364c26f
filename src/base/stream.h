/* Bytes on their way out: a buffer that empties itself into a function. One thread.
 *
 * Writers append to `buf` and call sn_stream_settle now and then, so that a document of any length
 * takes bounded memory. A failed write stays: what follows is dropped, sn_stream_finish tells. */
#ifndef SN_STREAM_H
#define SN_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sonde/error.h"

/* Takes all of `bytes` or fails. */
typedef int sn_write_fn(void *user, const void *bytes, size_t size, struct sonde_error *err);

struct sn_stream {
    struct sn_buf buf;
    sn_write_fn *write;
    void *user;
    uint64_t byte_count; /* written so far */
    struct sonde_error err;
};

void sn_stream_init(struct sn_stream *stream, sn_write_fn *write, void *user);
void sn_stream_done(struct sn_stream *stream); /* without writing the rest */

static inline void sn_stream_done_auto(struct sn_stream *stream)
{
    sn_stream_done(stream);
}

/* Writes out what is held once it is more than 64 KB. */
void sn_stream_settle(struct sn_stream *stream);

/* Writes the rest. The first failure of all. */
int sn_stream_finish(struct sn_stream *stream, struct sonde_error *err);

/* An sn_write_fn to the descriptor that `user` (an int *) points to. */
int sn_stream_to_fd(void *user, const void *bytes, size_t size, struct sonde_error *err);

#endif
