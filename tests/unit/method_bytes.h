/* The runtime's method events, made by hand. */
#ifndef SN_TEST_METHOD_BYTES_H
#define SN_TEST_METHOD_BYTES_H

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "model/event.h"
#include "model/schema.h"
#include "symbol/code.h"
#include "symbol/methods.h"

#define RUNTIME_PROVIDER "Microsoft-Windows-DotNETRuntime"
#define RUNDOWN_PROVIDER "Microsoft-Windows-DotNETRuntimeRundown"

static inline void put_wide(struct sn_buf *to, const char *text)
{
    sn_text_to_utf16(to, text, strlen(text));
    sn_buf_u16(to, 0);
}

struct method_event {
    const char *provider;
    uint32_t id;
    uint64_t time_ns;
    uint64_t method_id;
    uint64_t start;
    uint32_t size;
    const char *type;
    const char *name;
};

static inline void send_method(const struct method_event *made,
                               void (*take)(void *to, const struct sn_event *event), void *to)
{
    struct sn_buf payload = sn_buf_with_limit(1u << 20);
    sn_buf_u64(&payload, made->method_id);
    sn_buf_u64(&payload, 77); /* module */
    sn_buf_u64(&payload, made->start);
    sn_buf_u32(&payload, made->size);
    sn_buf_u32(&payload, 0x06000001);
    sn_buf_u32(&payload, 8);
    put_wide(&payload, made->type);
    put_wide(&payload, made->name);
    put_wide(&payload, "void ()");
    sn_buf_u16(&payload, 0);
    sn_buf_u64(&payload, 0);
    struct sn_schema schema = {.provider = made->provider, .name = "", .event_id = made->id};
    struct sn_event event = {.schema = &schema,
                             .time_ns = made->time_ns,
                             .payload = payload.bytes,
                             .payload_size = (uint32_t)payload.size,
                             .pointer_size = 8};
    take(to, &event);
    sn_buf_done(&payload);
}

static inline void give_methods(void *to, const struct sn_event *event)
{
    sn_methods_take(to, event);
}

static inline void give_code(void *to, const struct sn_event *event)
{
    sn_code_take(to, event);
}

static inline void take_method(struct sn_methods *methods, const struct method_event *made)
{
    send_method(made, give_methods, methods);
}

/* One of the rundown: there from the start. */
static inline void take_known(struct sn_methods *methods, uint64_t start, uint32_t size,
                              const char *type, const char *name)
{
    const struct method_event made = {
        RUNDOWN_PROVIDER, 144, 1u << 30, start, start, size, type, name};
    take_method(methods, &made);
}

static inline void tell_known(struct sn_code *code, uint64_t start, uint32_t size, const char *type,
                              const char *name)
{
    const struct method_event made = {
        RUNDOWN_PROVIDER, 144, 1u << 30, start, start, size, type, name};
    send_method(&made, give_code, code);
}

#endif
