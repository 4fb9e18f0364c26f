#include "api/method_event.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "model/event.h"

static struct sn_utf16 read_text(struct sn_cursor *cur)
{
    struct sn_utf16 text = {.units = cur->at};
    while (sn_cursor_u16(cur) && !cur->bad)
        text.count++;
    return text;
}

static void read_names(struct sn_cursor *cur, struct sn_method_event *method)
{
    method->type = read_text(cur);
    method->name = read_text(cur);
    method->signature = read_text(cur);
}

bool sn_method_event_read(const struct sn_event *event, struct sn_method_event *ret_method)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    ret_method->method_id = sn_cursor_u64(&cur);
    ret_method->module_id = sn_cursor_u64(&cur);
    ret_method->start = sn_cursor_u64(&cur);
    ret_method->size = sn_cursor_u32(&cur);
    sn_cursor_skip(&cur, 4); /* token */
    ret_method->flags = sn_cursor_u32(&cur);
    read_names(&cur, ret_method);
    return !cur.bad;
}

bool sn_entry_event_read(const struct sn_event *event, struct sn_method_event *ret_method)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    *ret_method = (struct sn_method_event){.method_id = sn_cursor_u64(&cur)};
    read_names(&cur, ret_method);
    ret_method->start = sn_cursor_u64(&cur);
    return !cur.bad;
}

bool sn_module_event_read(const struct sn_event *event, uint64_t *ret_id, struct sn_utf16 *ret_path)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    *ret_id = sn_cursor_u64(&cur);
    sn_cursor_skip(&cur, 16); /* assembly, flags, reserved */
    *ret_path = read_text(&cur);
    return !cur.bad;
}

static void put_utf16(struct sn_buf *to, const struct sn_utf16 *text)
{
    sn_buf_append(to, text->units, 2 * text->count);
    sn_buf_u16(to, 0);
}

void sn_method_rundown(struct sn_buf *to, const struct sn_method_event *method)
{
    sn_buf_u64(to, method->method_id);
    sn_buf_u64(to, method->module_id);
    sn_buf_u64(to, method->start);
    sn_buf_u32(to, method->size);
    sn_buf_u32(to, 0); /* token */
    sn_buf_u32(to, method->flags);
    put_utf16(to, &method->type);
    put_utf16(to, &method->name);
    put_utf16(to, &method->signature);
    sn_buf_u16(to, 0); /* number of the runtime in its process */
}
