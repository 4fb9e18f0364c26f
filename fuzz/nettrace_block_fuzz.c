/* Any bytes as an event block, behind intact declarations; the first byte chooses the version. */
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "format/nettrace_reader.h"
#include "model/event.h"
#include "sonde/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (1u << 20)

static int touch(void *user, const struct sn_event *event)
{
    uint64_t *sum = user;
    for (uint32_t i = 0; i < event->payload_size; i++)
        *sum += event->payload[i];
    for (uint32_t i = 0; i < event->stack_depth * event->pointer_size; i++)
        *sum += event->stack[i];
    *sum +=
        (event->activity ? event->activity[15] : 0u) + (event->related ? event->related[15] : 0u);
    return SONDE_OK;
}

static void put_object(struct sn_buf *to, const char *name, uint32_t version)
{
    sn_buf_append(to, "\x05\x05\x01", 3);
    sn_buf_u32(to, version);
    sn_buf_u32(to, version);
    sn_buf_u32(to, (uint32_t)strlen(name));
    sn_buf_text(to, name);
    sn_buf_u8(to, 6);
}

static void put_block(struct sn_buf *to, const char *name, unsigned kind, const void *bytes,
                      size_t size)
{
    if (kind) {
        sn_buf_u32(to, (uint32_t)size | kind << 24);
    } else {
        put_object(to, name, 2);
        sn_buf_u32(to, (uint32_t)size);
        sn_buf_fill(to, 0, -to->size & 3u);
    }
    sn_buf_append(to, bytes, size);
    if (!kind)
        sn_buf_u8(to, 6);
}

static void put_start_v4(struct sn_buf *to)
{
    static const uint8_t trace[48] = {0xEA, 7, 1, 0, 0, 0, 1, [25] = 0xCA, 0x9A, 0x3B, [32] = 8};
    /* Metadata 1, provider "P", event 1 "E", no fields; two rows' worth of zeros before it. */
    static const uint8_t metadata[] = {20, 0, 1, 0, 0, 0,    0, 0,  0, 0, 0, 0, 0,   0, 0,
                                       0,  0, 0, 0, 0, 0x80, 0, 36, 1, 0, 0, 0, 'P', 0, 0,
                                       0,  1, 0, 0, 0, 'E',  0, 0,  0, 0, 0, 0, 0,   0, 0,
                                       0,  0, 0, 0, 0, 0,    4, 0,  0, 0, 0, 0, 0,   0};
    static const uint8_t stacks[] = {1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    sn_buf_text(to, "Nettrace");
    sn_buf_u32(to, 20);
    sn_buf_text(to, "!FastSerialization.1");
    put_object(to, "Trace", 4);
    sn_buf_append(to, trace, sizeof(trace));
    sn_buf_u8(to, 6);
    put_block(to, "MetadataBlock", 0, metadata, sizeof(metadata));
    put_block(to, "StackBlock", 0, stacks, sizeof(stacks));
}

static void put_start_v6(struct sn_buf *to)
{
    static const uint8_t trace[40] = {0xEA, 7, 1, 0, 0, 0, 1, [25] = 0xCA, 0x9A, 0x3B, [32] = 8};
    static const uint8_t metadata[] = {0, 0, 10, 0, 1, 1, 'P', 1, 1, 'E', 0, 0, 0, 0};
    static const uint8_t threads[] = {3, 0, 1, 3, 50, 3, 0, 2, 3, 51};
    static const uint8_t stacks[] = {1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    static const uint8_t labels[25] = {1, 0, 0, 0, 1, 0, 0, 0, 0x81, 9};
    sn_buf_append(to, "Nettrace\0\0\0\0\6\0\0\0\0\0\0\0", 20);
    put_block(to, "", 1, trace, sizeof(trace));
    put_block(to, "", 3, metadata, sizeof(metadata));
    put_block(to, "", 6, threads, sizeof(threads));
    put_block(to, "", 5, stacks, sizeof(stacks));
    put_block(to, "", 8, labels, sizeof(labels));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > INPUT_MAX)
        return 0;
    bool is_v6 = data[0] & 1u;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit((size_t)2 * INPUT_MAX);
    if (is_v6)
        put_start_v6(&stream);
    else
        put_start_v4(&stream);
    put_block(&stream, "EventBlock", is_v6 ? 2 : 0, data + 1, size - 1);

    uint64_t sum = 0;
    struct sn_nettrace_ops ops = {.event = touch};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    if (sn_nettrace_reader_new(&ops, &sum, &reader, NULL) != SONDE_OK)
        return 0;
    (void)sn_nettrace_reader_feed(reader, stream.bytes, stream.size, NULL); /* any status will do */
    (void)sn_nettrace_reader_finish(reader, NULL);
    return 0;
}
