/* Any schema over any payload: the walk ends within its bound, every value lies in the payload, and
 * it can be shown.
 *
 * Input: how many bytes describe the schema, those bytes, then the payload. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"
#include "convert/event_text.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"

#define FIELD_MAX 64u

struct tree {
    struct sn_field fields[FIELD_MAX];
    unsigned used;
    struct sn_cursor cur;
};

static bool has_one_child(uint8_t type)
{
    return type == SN_TYPE_ARRAY || type == SN_TYPE_FIXED_ARRAY || type == SN_TYPE_REL_LOC ||
           type == SN_TYPE_DATA_LOC || type == SN_TYPE_COUNTED;
}

/* Fills `count` fields, then the children of each: breadth first, so that siblings lie together. */
static void describe(struct tree *tree, unsigned first, unsigned count)
{
    static const char *const names[] = {"", "Count", "x"};
    for (unsigned i = first; i < first + count; i++) {
        struct sn_field *field = &tree->fields[i];
        uint8_t type = sn_cursor_u8(&tree->cur);
        field->name = names[i % 3];
        field->type = type & 0x80u ? (uint8_t)(64 + type % 3) : (uint8_t)(1 + type % 26);
        if (has_one_child(field->type))
            field->count = sn_cursor_u16(&tree->cur);
        if (field->type == SN_TYPE_COUNTED)
            field->count %= 30;
    }
}

static void build(struct tree *tree, unsigned top_count)
{
    tree->used = top_count;
    describe(tree, 0, top_count);
    for (unsigned i = 0; i < tree->used; i++) {
        struct sn_field *field = &tree->fields[i];
        bool nests = has_one_child(field->type) || field->type == SN_TYPE_OBJECT;
        unsigned count = has_one_child(field->type) ? 1u : sn_cursor_u8(&tree->cur) % 8u;
        if (!nests)
            continue;
        if (tree->used + count > FIELD_MAX) {
            field->type = SN_TYPE_U8; /* no room for its children */
            continue;
        }
        field->children = &tree->fields[tree->used];
        field->child_count = (uint16_t)count;
        describe(tree, tree->used, count);
        tree->used += count;
    }
}

static void check_value(const struct sn_event *event, const struct sn_value *value)
{
    bool has_bytes = value->kind == SN_VALUE_TEXT16 || value->kind == SN_VALUE_TEXT8 ||
                     value->kind == SN_VALUE_GUID || value->kind == SN_VALUE_BYTES;
    if (value->kind == SN_VALUE_NONE || !value->field)
        abort();
    if (!has_bytes || !value->size)
        return;
    if (value->bytes < event->payload || value->size > event->payload_size ||
        value->bytes + value->size > event->payload + event->payload_size)
        abort();
}

/* A value eats a byte, or is one of the bounded steps that open or are nothing, or closes what was
 * opened, or is one field of an object that was opened. */
static uint64_t most_values(const struct sn_event *event)
{
    uint64_t steps = 4096u + 2u * (uint64_t)event->payload_size;
    return event->payload_size + 2 * steps + FIELD_MAX;
}

static void walk(const struct sn_event *event)
{
    static struct sn_payload payload;
    uint64_t most = most_values(event);
    uint64_t opened = 0;
    int rc;
    sn_payload_start(&payload, event);
    for (uint64_t count = 0;; count++) {
        struct sn_value value = {0};
        rc = sn_payload_next(&payload, &value);
        if (rc != SONDE_OK)
            break;
        if (count > most)
            abort();
        check_value(event, &value);
        opened += value.kind == SN_VALUE_OPEN;
        if (value.kind == SN_VALUE_CLOSE && opened-- == 0)
            abort();
    }
    if (rc == SONDE_END && (opened || sn_payload_left(&payload) > event->payload_size))
        abort();
    if (rc != SONDE_END && rc != SONDE_E_TRUNCATED && rc != SONDE_E_FORMAT)
        abort();
}

/* One line that commands no terminal, whatever is in it. */
static void write_text(const struct sn_event *event)
{
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(16u << 20);
    struct sn_event_text writer;
    sn_event_text_init(&writer);
    writer.value_max = event->payload_size % 64;
    sn_event_text_write(&writer, event, &line);
    sn_event_text_done(&writer);
    for (size_t i = 0; i < line.size; i++) {
        if (line.bytes[i] < ' ' && (line.bytes[i] != '\n' || i + 1 != line.size))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tree tree;
    memset(&tree, 0, sizeof(tree));
    struct sn_cursor input = sn_cursor_over(data, size);
    size_t described = sn_cursor_u8(&input);
    if (described > sn_cursor_left(&input))
        described = sn_cursor_left(&input);
    tree.cur = sn_cursor_over(sn_cursor_bytes(&input, described), described);
    uint8_t shape = sn_cursor_u8(&tree.cur);
    build(&tree, shape % 16u);

    struct sn_schema schema = {.provider = "Fuzz",
                               .name = "Fuzz",
                               .has_layout = true,
                               .is_doubtful = (shape & 0x40u) != 0,
                               .fields = tree.fields,
                               .field_count = shape % 16u};
    struct sn_event event = {.schema = &schema, .pointer_size = shape & 0x80u ? 4 : 8};
    event.payload_size = (uint32_t)sn_cursor_left(&input);
    event.payload = input.bad ? NULL : sn_cursor_bytes(&input, event.payload_size);
    event.payload_size = event.payload ? event.payload_size : 0;
    walk(&event);
    write_text(&event);

    struct sn_value value = {0};
    if (sn_payload_find(&event, "Count", &value) && strcmp(value.field->name, "Count") != 0)
        abort();
    return 0;
}
