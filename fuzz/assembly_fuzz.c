/* Any bytes as an assembly: every question is answered in bounded time and text, what is told of a
 * type, method or field lies in its tables, and what cannot be told appends nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "format/assembly.h"

#define ROW_MAX    48u
#define TEXT_LIMIT (128u << 10)

static void check_text(bool is_told, const struct sn_buf *text, size_t before)
{
    if (is_told ? text->size < before || text->failed : text->size != before && !text->failed)
        abort();
}

static void ask_type(const struct sn_assembly *assembly, uint32_t token, struct sn_buf *text)
{
    struct sn_assembly_type type = {0};
    uint32_t first = 0;
    uint32_t count = 0;
    sn_buf_clear(text);
    check_text(sn_assembly_type_name(assembly, token, text), text, 0);
    if (sn_assembly_type(assembly, token, &type) && (!*type.name || !type.name_space))
        abort();
    if (sn_assembly_methods(assembly, token, &first, &count) &&
        (first >> 24 != 0x06 || (count && count > assembly->tables[0x06].row_count)))
        abort();
    if (sn_assembly_fields(assembly, token, &first, &count) &&
        (first >> 24 != 0x04 || (count && count > assembly->tables[0x04].row_count)))
        abort();
}

static void ask_method(const struct sn_assembly *assembly, uint32_t token, struct sn_buf *text)
{
    uint32_t type = 0;
    sn_buf_clear(text);
    bool is_told = sn_assembly_method(assembly, token, text, &type);
    check_text(is_told, text, 0);
    if (is_told && (type >> 24 != 0x02 || !(type & 0xFFFFFF) ||
                    (type & 0xFFFFFF) > assembly->tables[0x02].row_count))
        abort();
    size_t before = text->size;
    check_text(sn_assembly_method_signature(assembly, token, text), text, before);
}

static void ask_field(const struct sn_assembly *assembly, uint32_t token, struct sn_buf *text)
{
    struct sn_assembly_field field = {0};
    sn_buf_clear(text);
    if (sn_assembly_field(assembly, token, &field)) {
        sn_buf_text(text, field.name);
        check_text(true, text, 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_assembly assembly = {0};
    struct sonde_error err = {0};
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(TEXT_LIMIT);
    if (sn_assembly_open(data, size, &assembly, &err) != SONDE_OK) {
        if (!err.text[0])
            abort();
        return 0;
    }
    for (uint32_t row = 0; row < ROW_MAX; row++) {
        ask_type(&assembly, 0x01000000 | row, &text);
        ask_type(&assembly, 0x02000000 | row, &text);
        ask_method(&assembly, 0x06000000 | row, &text);
        ask_field(&assembly, 0x04000000 | row, &text);
    }
    (void)sn_assembly_find_type(&assembly, "A+B+C"); /* any answer will do */
    sn_buf_clear(&text);
    check_text(sn_assembly_signature(&assembly, data, size, &text), &text, 0);
    return 0;
}
