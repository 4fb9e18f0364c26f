/* Any bytes as a metadata block; the first byte chooses the version. Schemas that come out are
 * whole: every field can be walked. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "format/nettrace_reader.h"
#include "model/schema.h"
#include "sonde/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (1u << 20)

static unsigned walk(const struct sn_field *fields, unsigned count, unsigned depth)
{
    unsigned sum = 0;
    if (depth > SN_FIELD_DEPTH_MAX && count)
        abort();
    for (unsigned i = 0; i < count; i++)
        sum += (unsigned)strlen(fields[i].name) + fields[i].type +
               walk(fields[i].children, fields[i].child_count, depth + 1);
    return sum;
}

static int check(void *user, struct sn_schema *schema)
{
    unsigned *sum = user;
    *sum += (unsigned)(strlen(schema->provider) + strlen(schema->name));
    *sum += walk(schema->fields, schema->field_count, 1);
    return SONDE_OK;
}

static void put_start(struct sn_buf *to, bool is_v6, size_t size)
{
    static const uint8_t trace[48] = {0xEA, 7, 1, 0, 0, 0, 1, [25] = 0xCA, 0x9A, 0x3B, [32] = 8};
    sn_buf_text(to, "Nettrace");
    if (is_v6) {
        sn_buf_append(to, "\0\0\0\0\6\0\0\0\0\0\0\0", 12);
        sn_buf_u32(to, 40 | 1u << 24);
        sn_buf_append(to, trace, 40);
        sn_buf_u32(to, (uint32_t)size | 3u << 24);
        return;
    }
    sn_buf_u32(to, 20);
    sn_buf_text(to, "!FastSerialization.1");
    sn_buf_append(to, "\5\5\1\4\0\0\0\4\0\0\0\5\0\0\0Trace\6", 21);
    sn_buf_append(to, trace, sizeof(trace));
    sn_buf_append(to, "\6\5\5\1\2\0\0\0\2\0\0\0\15\0\0\0MetadataBlock\6", 30);
    sn_buf_u32(to, (uint32_t)size);
    sn_buf_fill(to, 0, -to->size & 3u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > INPUT_MAX)
        return 0;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit((size_t)2 * INPUT_MAX);
    put_start(&stream, data[0] & 1u, size - 1);
    sn_buf_append(&stream, data + 1, size - 1);
    sn_buf_u8(&stream, 6);

    unsigned sum = 0;
    struct sn_nettrace_ops ops = {.schema = check};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    if (sn_nettrace_reader_new(&ops, &sum, &reader, NULL) != SONDE_OK)
        return 0;
    (void)sn_nettrace_reader_feed(reader, stream.bytes, stream.size, NULL); /* any status will do */
    (void)sn_nettrace_reader_finish(reader, NULL);
    return 0;
}
