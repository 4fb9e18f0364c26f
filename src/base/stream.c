#include "base/stream.h"

#include "base/err.h"
#include "base/file.h"

#define SETTLE_AT    (64u << 10)
#define BUFFER_LIMIT (64u << 20) /* one piece between two settlements: a huge name, escaped */

void sn_stream_init(struct sn_stream *stream, sn_write_fn *write, void *user)
{
    *stream =
        (struct sn_stream){.buf = sn_buf_with_limit(BUFFER_LIMIT), .write = write, .user = user};
}

void sn_stream_done(struct sn_stream *stream)
{
    sn_buf_done(&stream->buf);
}

static void write_out(struct sn_stream *stream)
{
    if (stream->buf.failed)
        (void)sn_fail(&stream->err, SONDE_E_LIMIT, stream->byte_count, "too much to write at once");
    else if (!stream->err.status && stream->buf.size &&
             stream->write(stream->user, stream->buf.bytes, stream->buf.size, &stream->err) ==
                 SONDE_OK)
        stream->byte_count += stream->buf.size;
    sn_buf_clear(&stream->buf);
}

void sn_stream_settle(struct sn_stream *stream)
{
    if (stream->buf.size >= SETTLE_AT || stream->buf.failed)
        write_out(stream);
}

int sn_stream_finish(struct sn_stream *stream, struct sonde_error *err)
{
    write_out(stream);
    if (stream->err.status && err && !err->status)
        *err = stream->err; /* as it is: it tells what the system said already */
    return stream->err.status;
}

int sn_stream_to_fd(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    return sn_file_write_all(*(const int *)user, bytes, size, err);
}
