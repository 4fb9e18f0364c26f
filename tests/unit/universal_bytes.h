/* Events of a machine-wide recording, made by hand. */
#ifndef SN_TEST_UNIVERSAL_BYTES_H
#define SN_TEST_UNIVERSAL_BYTES_H

#include <string.h>

#include "base/buf.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/schema.h"

typedef void universal_fn(void *to, const struct sn_event *event);

struct universal_event {
    enum sn_universal kind;
    uint32_t pid;
    uint64_t thread_id; /* 0: the main one */
    uint64_t time_ns;
    uint64_t numbers[SN_UNIVERSAL_NUMBER_MAX];
    const char *texts[SN_UNIVERSAL_TEXT_MAX];
    const uint64_t *stack; /* leaf first */
    uint32_t depth;
};

static inline void send_universal(const struct universal_event *made, universal_fn *take, void *to)
{
    static struct sn_schema schemas[SN_UNIVERSAL_COUNT];
    struct sn_buf payload = sn_buf_with_limit(1u << 20);
    struct sn_universal_fields fields = {0};
    if (!schemas[0].provider)
        sn_universal_schemas(schemas);
    memcpy(fields.numbers, made->numbers, sizeof(fields.numbers));
    for (size_t i = 0; i < SN_UNIVERSAL_TEXT_MAX; i++)
        fields.texts[i] = sn_universal_text_of(made->texts[i] ? made->texts[i] : "");
    sn_universal_encode(made->kind, &fields, &payload);
    const struct sn_event event = {.schema = &schemas[made->kind],
                                   .time_ns = made->time_ns,
                                   .pid = made->pid,
                                   .cpu = UINT32_MAX,
                                   .thread_id = made->thread_id ? made->thread_id : made->pid,
                                   .capture_thread_id =
                                       made->thread_id ? made->thread_id : made->pid,
                                   .pointer_size = 8,
                                   .payload = payload.bytes,
                                   .payload_size = (uint32_t)payload.size,
                                   .stack = (const uint8_t *)made->stack,
                                   .stack_depth = made->depth};
    take(to, &event);
    sn_buf_done(&payload);
}

#endif
