/* Label lists of version 6: of all labels, activity and related activity are kept. */
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "format/nettrace_internal.h"

#define LAST_OF_LIST 0x80u

enum label {
    LABEL_ACTIVITY = 1,
    LABEL_RELATED = 2,
    LABEL_TRACE = 3,
    LABEL_SPAN = 4,
    LABEL_TEXT = 5,
    LABEL_NUMBER = 6,
    LABEL_OPCODE = 7,
    LABEL_KEYWORDS = 8,
    LABEL_LEVEL = 9,
    LABEL_VERSION = 10,
};

static void skip_string(struct sn_cursor *cur)
{
    sn_cursor_skip(cur, sn_cursor_varuint32(cur));
}

static void read_guid(struct sn_cursor *cur, uint8_t to[16], bool *ret_has)
{
    const uint8_t *guid = sn_cursor_bytes(cur, 16);
    if (!guid)
        return;
    memcpy(to, guid, 16);
    *ret_has = true;
}

static void read_label(struct sn_cursor *cur, unsigned kind, struct sn_nettrace_label *label)
{
    switch (kind) {
    case LABEL_ACTIVITY: read_guid(cur, label->activity, &label->has_activity); break;
    case LABEL_RELATED: read_guid(cur, label->related, &label->has_related); break;
    case LABEL_TRACE: sn_cursor_skip(cur, 16); break;
    case LABEL_SPAN:
    case LABEL_KEYWORDS: sn_cursor_skip(cur, 8); break;
    case LABEL_TEXT:
        skip_string(cur);
        skip_string(cur);
        break;
    case LABEL_NUMBER:
        skip_string(cur);
        (void)sn_cursor_varuint64(cur); /* zigzag, as long as the plain one */
        break;
    case LABEL_OPCODE:
    case LABEL_LEVEL:
    case LABEL_VERSION: sn_cursor_skip(cur, 1); break;
    default: cur->bad = true; /* of unknown length */
    }
}

static struct sn_nettrace_label read_list(struct sn_cursor *cur)
{
    struct sn_nettrace_label label = {0};
    uint8_t kind = 0;
    while (!cur->bad && !(kind & LAST_OF_LIST)) {
        kind = sn_cursor_u8(cur);
        read_label(cur, kind & 0x7Fu, &label);
    }
    return label;
}

int sn_nettrace_label_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                            uint64_t offset)
{
    struct sn_nettrace_labels *labels = &reader->labels;
    struct sn_cursor cur = sn_cursor_over(block, size);
    uint32_t first = sn_cursor_u32(&cur);
    uint32_t count = sn_cursor_u32(&cur);

    if (!labels->count || first != labels->first + labels->count) {
        sn_buf_clear(&labels->entries);
        labels->first = first;
        labels->count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        size_t start = sn_cursor_offset(&cur);
        struct sn_nettrace_label label = read_list(&cur);
        if (!cur.bad)
            sn_buf_append(&labels->entries, &label, sizeof(label));
        if (cur.bad || labels->entries.failed)
            return sn_nettrace_damage(reader, offset + start, size - start,
                                      "label list %u cannot be %s", first + i,
                                      cur.bad ? "read" : "kept: there are too many");
        labels->count++;
    }
    return SONDE_OK;
}
