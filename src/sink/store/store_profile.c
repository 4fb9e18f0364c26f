#include "sink/store/store_profile.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"

#define TAG_METHODS 'm'
#define TAG_NODES   'n'
#define RAW_MAX     (48u << 20)
#define NAME_MAX    4096u

/* --- writing --- */

static void put_name(struct sn_buf *raw, const char *name)
{
    if (name)
        sn_buf_append(raw, name, strnlen(name, NAME_MAX));
    sn_buf_u8(raw, 0);
}

/* Column after column: all numbers, then all names, each ended by a zero. */
int sn_store_profile_encode_methods(struct sn_store_packer *packer,
                                    const struct sn_store_method *methods, size_t count,
                                    struct sn_buf *out, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf raw = sn_buf_with_limit(RAW_MAX);
    if (count > SN_STORE_METHODS_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "a profile of %zu methods: %u are kept", count,
                       SN_STORE_METHODS_MAX);
    sn_buf_varuint(&raw, count);
    for (size_t i = 0; i < count; i++)
        sn_buf_varuint(&raw, methods[i].self);
    for (size_t i = 0; i < count; i++)
        sn_buf_varuint(&raw, methods[i].total);
    for (size_t i = 0; i < count; i++)
        put_name(&raw, methods[i].name);
    for (size_t i = 0; i < count; i++)
        put_name(&raw, methods[i].module);
    return sn_store_pack(packer, TAG_METHODS, &raw, out, err);
}

/* Parents as the distance back to them, the root's is 0; methods one higher, the root's is 0. */
int sn_store_profile_encode_nodes(struct sn_store_packer *packer,
                                  const struct sn_store_profile_node *nodes, size_t count,
                                  struct sn_buf *out, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf raw = sn_buf_with_limit(RAW_MAX);
    if (count > SN_STORE_NODES_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "a profile of %zu nodes: %u are kept", count,
                       SN_STORE_NODES_MAX);
    sn_buf_varuint(&raw, count);
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].parent > i)
            return sn_fail(err, SONDE_E_ARGUMENT, i, "a node of a profile comes before its parent");
        sn_buf_varuint(&raw, i - nodes[i].parent);
    }
    for (size_t i = 0; i < count; i++)
        sn_buf_varuint(&raw, (uint32_t)(nodes[i].method + 1));
    for (size_t i = 0; i < count; i++)
        sn_buf_varuint(&raw, nodes[i].self);
    return sn_store_pack(packer, TAG_NODES, &raw, out, err);
}

/* --- reading --- */

void sn_store_methods_read_done(struct sn_store_methods_read *methods)
{
    free(methods->methods);
    sn_buf_done(&methods->texts);
    methods->methods = NULL;
    methods->count = 0;
}

static int damaged(const struct sn_cursor *cursor, struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_FORMAT, sn_cursor_offset(cursor),
                   "the store: a profile is damaged at byte %zu", sn_cursor_offset(cursor));
}

/* "" and bad where no zero follows. */
static const char *get_name(struct sn_cursor *cursor)
{
    size_t left = sn_cursor_left(cursor);
    const char *name = (const char *)cursor->at;
    const char *end = left ? memchr(name, 0, left) : NULL;
    if (!end || (size_t)(end - name) > NAME_MAX) {
        cursor->bad = true;
        return "";
    }
    sn_cursor_skip(cursor, (size_t)(end - name) + 1);
    return name;
}

/* How many there are, if as many can be: each takes `least` bytes. */
static size_t get_count(struct sn_cursor *cursor, size_t most, size_t least)
{
    uint64_t count = sn_cursor_varuint64(cursor);
    if (count > most || count > sn_cursor_left(cursor) / least) {
        cursor->bad = true;
        return 0;
    }
    return (size_t)count;
}

static int read_methods(struct sn_cursor *cursor, struct sn_store_methods_read *read,
                        struct sonde_error *err)
{
    read->count = get_count(cursor, SN_STORE_METHODS_MAX, 4);
    read->methods = calloc(read->count ? read->count : 1, sizeof(*read->methods));
    if (!read->methods)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a profile");
    for (size_t i = 0; i < read->count; i++)
        read->methods[i].self = sn_cursor_varuint64(cursor);
    for (size_t i = 0; i < read->count; i++)
        read->methods[i].total = sn_cursor_varuint64(cursor);
    for (size_t i = 0; i < read->count; i++)
        read->methods[i].name = get_name(cursor);
    for (size_t i = 0; i < read->count; i++)
        read->methods[i].module = get_name(cursor);
    return cursor->bad || sn_cursor_left(cursor) ? damaged(cursor, err) : SONDE_OK;
}

int sn_store_profile_decode_methods(struct sn_store_packer *packer, const void *bytes, size_t size,
                                    struct sn_store_methods_read *ret_methods,
                                    struct sonde_error *err)
{
    struct sn_store_methods_read read = {.texts = sn_buf_with_limit(RAW_MAX)};
    int rc = sn_store_unpack(packer, TAG_METHODS, bytes, size, &read.texts, err);
    if (rc == SONDE_OK) {
        struct sn_cursor cursor = sn_cursor_over(read.texts.bytes, read.texts.size);
        rc = read_methods(&cursor, &read, err);
    }
    if (rc == SONDE_OK)
        *ret_methods = read;
    else
        sn_store_methods_read_done(&read);
    return rc;
}

static bool get_nodes(struct sn_cursor *cursor, struct sn_store_profile_node *nodes, size_t count,
                      size_t method_count)
{
    bool is_good = true;
    for (size_t i = 0; i < count; i++) {
        uint64_t back = sn_cursor_varuint64(cursor);
        is_good &= i ? back > 0 && back <= i : !back;
        nodes[i].parent = (uint32_t)(i - back);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t method = sn_cursor_varuint64(cursor);
        is_good &= method <= method_count;
        nodes[i].method = (uint32_t)method - 1;
    }
    for (size_t i = 0; i < count; i++)
        nodes[i].self = sn_cursor_varuint64(cursor);
    return is_good;
}

int sn_store_profile_decode_nodes(struct sn_store_packer *packer, const void *bytes, size_t size,
                                  size_t method_count, struct sn_store_nodes_read *ret_nodes,
                                  struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf raw = sn_buf_with_limit(RAW_MAX);
    int rc = sn_store_unpack(packer, TAG_NODES, bytes, size, &raw, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_cursor cursor = sn_cursor_over(raw.bytes, raw.size);
    size_t count = get_count(&cursor, SN_STORE_NODES_MAX, 3);
    SN_AUTO(sn_free)
    struct sn_store_profile_node *nodes = calloc(count ? count : 1, sizeof(*nodes));
    if (!nodes)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a profile");
    bool is_good = get_nodes(&cursor, nodes, count, method_count);
    if (!is_good || cursor.bad || sn_cursor_left(&cursor))
        return damaged(&cursor, err);
    ret_nodes->nodes = SN_TAKE(nodes);
    ret_nodes->count = count;
    return SONDE_OK;
}
