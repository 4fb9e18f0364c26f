/* Any bytes as a trace for who may not see secrets, in pieces of any size: as many come out as went
 * in, and each is what it was or covered. The first byte is the size of a piece. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/trace_cover.h"

struct trace {
    const uint8_t *bytes;
    uint8_t *covered; /* of the same size */
    size_t size;
    size_t in;
    size_t out;
};

static void take(struct sn_trace_cover *cover, struct trace *trace, size_t piece)
{
    size_t got;
    char bytes[256];
    while (
        (got = sn_trace_cover_take(cover, bytes, piece < sizeof(bytes) ? piece : sizeof(bytes)))) {
        if (got > trace->in - trace->out)
            abort();
        memcpy(trace->covered + trace->out, bytes, got);
        trace->out += got;
    }
}

static void cover_all(struct trace *trace, size_t piece)
{
    struct sn_trace_cover *cover = sn_trace_cover_new();
    if (!cover)
        abort();
    do {
        size_t room;
        char *to = sn_trace_cover_room(cover, &room);
        size_t size = trace->size - trace->in < piece ? trace->size - trace->in : piece;
        if (!room)
            abort(); /* all was taken: it goes on */
        size = size < room ? size : room;
        memcpy(to, trace->bytes + trace->in, size);
        trace->in += size;
        sn_trace_cover_add(cover, size, trace->in == trace->size);
        take(cover, trace, piece);
    } while (trace->in < trace->size);
    sn_trace_cover_free(cover);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    struct trace trace = {.bytes = data + 1, .size = size - 1, .covered = malloc(size)};
    if (!trace.covered)
        return 0;
    cover_all(&trace, data[0] ? 8 * (size_t)data[0] : 1);
    if (trace.out != trace.size)
        abort();
    for (size_t i = 0; i < trace.size; i++)
        if (trace.covered[i] != trace.bytes[i] && trace.covered[i] != '*' && trace.covered[i])
            abort();
    free(trace.covered);
    return 0;
}
