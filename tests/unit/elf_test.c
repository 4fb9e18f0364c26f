/* ELF files and the search in them: small files that gcc and ld made, as nm and readelf show them;
 * symbols without sizes, gaps, files without section headers; every cut. */
#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/elf.h"
#include "symbol/symbol_search.h"

#define CORPUS SONDE_SOURCE_DIR "/fuzz/corpus/elf/"

static struct sn_buf load(const char *path)
{
    struct sonde_error err = {0};
    struct sn_buf file = sn_buf_with_limit(1u << 20);
    if (sn_file_read_at(AT_FDCWD, path, &file, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return file;
}

static size_t read_buf(void *user, uint64_t offset, void *to, size_t size)
{
    const struct sn_buf *buf = user;
    if (offset >= buf->size)
        return 0;
    size_t part = size < buf->size - offset ? size : buf->size - (size_t)offset;
    memcpy(to, buf->bytes + offset, part);
    return part;
}

static struct sn_elf read_elf(struct sn_buf *file)
{
    struct sn_elf elf = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_elf_read(&(struct sn_read_at){read_buf, file}, &elf, &err), SONDE_OK);
    return elf;
}

static void headers_are_read(void **state)
{
    (void)state;
    static const uint8_t id[] = {0xe3, 0x08, 0x66, 0x8c};
    SN_AUTO(sn_buf_done) struct sn_buf full = load(CORPUS "full.so");
    SN_AUTO(sn_buf_done) struct sn_buf linked = load(CORPUS "linked.so");
    SN_AUTO(sn_buf_done) struct sn_buf debug = load(CORPUS "tiny.debug");
    struct sn_elf elf = read_elf(&full);
    assert_int_equal(elf.code_count, 1);
    assert_int_equal(elf.code[0].vaddr, 0);
    assert_int_equal(elf.code[0].size, 0x57c);
    assert_int_equal(elf.build_id_size, 20);
    assert_memory_equal(elf.build_id, id, sizeof(id));
    assert_int_equal(elf.eh_frame_vaddr, 0x45c);
    assert_true(elf.all.count > elf.exported.count);
    assert_false(elf.has_debug_info);
    assert_string_equal(elf.debug_link, "");
    struct sn_elf stripped = read_elf(&linked);
    assert_string_equal(stripped.debug_link, "tiny.debug");
    assert_int_equal(stripped.debug_crc, 0x816c104c);
    assert_int_equal(stripped.all.count, 0);
    elf = read_elf(&debug);
    assert_true(elf.has_debug_info);
    assert_true(elf.all.count);
    assert_int_equal(elf.exported.count, 0);
    assert_memory_equal(elf.build_id, stripped.build_id, 20);
}

struct expected {
    uint64_t vaddr;
    const char *name; /* NULL: nothing is known */
    uint64_t start;
    uint64_t size;
};

static void keep(void *user, const struct sn_symbol_answer *answer)
{
    SN_AUTO(sn_free) char *name = strdup(answer->name);
    struct expected *heard = user;
    heard->start = answer->start;
    heard->size = answer->size;
    heard->name = SN_TAKE(name);
}

static void assert_finds(struct sn_buf *file, const struct expected *cases, size_t count)
{
    struct sn_elf elf = read_elf(file);
    const struct sn_read_at reader = {read_buf, file};
    struct sn_symbol_tables tables = {.elf = &elf, .file = reader, .count = 2};
    tables.items[0] = (struct sn_symbol_table){reader, elf.all};
    tables.items[1] = (struct sn_symbol_table){reader, elf.exported};
    for (size_t i = 0; i < count; i++) {
        struct expected heard = {0};
        sn_symbol_search(&tables, &cases[i].vaddr, 1, keep, &heard);
        assert_int_equal(heard.start, cases[i].start);
        assert_int_equal(heard.size, cases[i].size);
        assert_int_equal(heard.name != NULL, cases[i].name != NULL);
        if (heard.name)
            assert_string_equal(heard.name, cases[i].name);
        free((void *)(uintptr_t)heard.name);
    }
}

static void symbols_hold_what_their_sizes_say(void **state)
{
    (void)state;
    static const struct expected cases[] = {
        {0x3df, "", 0x3b0, 0x30},       /* .plt: bounds only */
        {0x3e0, "no_size", 0x3e0, 4},   /* no size: the rest of its frame information */
        {0x3e3, "no_size", 0x3e0, 4},   /* behind a label to jump to */
        {0x3e4, "sized", 0x3e4, 1},     /* no frame information */
        {0x3e5, NULL, 0, 0},            /* behind its end */
        {0x3f4, "inner", 0x3f4, 4},     /* local */
        {0x3f9, "tiny_add", 0x3f8, 12}, /* not its alias __tiny_add */
        {0x438, "tiny_loop", 0x404, 0x35},
        {0x44a, "tiny_last", 0x44a, 0x11},
        {0x45c, NULL, 0, 0}, /* data in the same segment */
        {0x9999999, NULL, 0, 0},
    };
    SN_AUTO(sn_buf_done) struct sn_buf file = load(CORPUS "full.so");
    assert_finds(&file, cases, sizeof(cases) / sizeof(cases[0]));
}

static void files_without_sections_have_exports_and_bounds(void **state)
{
    (void)state;
    static const struct expected cases[] = {
        {0x3e3, "no_size", 0x3e0, 4},   {0x3f4, "", 0x3f4, 4}, /* local: bounds only */
        {0x3f9, "tiny_add", 0x3f8, 12}, {0x440, "", 0x439, 0x11}, {0x44a, "tiny_last", 0x44a, 0x11},
    };
    SN_AUTO(sn_buf_done) struct sn_buf file = load(CORPUS "nosections.so");
    assert_int_equal(read_elf(&file).all.count, 0);
    assert_finds(&file, cases, sizeof(cases) / sizeof(cases[0]));
}

struct batch {
    const char *names[16];
    size_t count;
};

static void collect(void *user, const struct sn_symbol_answer *answer)
{
    struct batch *batch = user;
    assert_in_range(batch->count, 0, 15);
    batch->names[batch->count++] = strdup(answer->name);
}

static void a_batch_tells_each_function_once_in_order(void **state)
{
    (void)state;
    static const uint64_t vaddrs[] = {0x3e0, 0x3e1, 0x3e5, 0x3f4, 0x3f8, 0x3f8, 0x3ff, 0x44b};
    static const char *const expected[] = {"no_size", "inner", "tiny_add", "tiny_last"};
    SN_AUTO(sn_buf_done) struct sn_buf file = load(CORPUS "full.so");
    struct sn_elf elf = read_elf(&file);
    const struct sn_read_at reader = {read_buf, &file};
    struct sn_symbol_tables tables = {.elf = &elf, .file = reader, .count = 1};
    tables.items[0] = (struct sn_symbol_table){reader, elf.all};
    struct batch batch = {0};
    sn_symbol_search(&tables, vaddrs, sizeof(vaddrs) / sizeof(vaddrs[0]), collect, &batch);
    assert_int_equal(batch.count, 4);
    for (size_t i = 0; i < batch.count; i++) {
        assert_string_equal(batch.names[i], expected[i]);
        free((void *)(uintptr_t)batch.names[i]);
    }
}

static void assert_holds(void *user, const struct sn_symbol_answer *answer)
{
    const uint64_t *vaddr = user;
    assert_true(*vaddr >= answer->from && *vaddr < answer->until);
    assert_true(answer->from >= answer->start && answer->until <= answer->start + answer->size);
}

static void every_cut_is_survived(void **state)
{
    (void)state;
    static const char *const paths[] = {CORPUS "full.so", CORPUS "linked.so",
                                        CORPUS "nosections.so", CORPUS "tiny.debug"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        SN_AUTO(sn_buf_done) struct sn_buf file = load(paths[i]);
        for (size_t cut = 0; cut < file.size; cut++) {
            struct sn_buf part = {.bytes = malloc(cut ? cut : 1), .size = cut};
            const struct sn_read_at reader = {read_buf, &part};
            struct sn_elf elf = {0};
            struct sonde_error err = {0};
            uint64_t vaddr = 0x3f8;
            assert_non_null(part.bytes);
            memcpy(part.bytes, file.bytes, cut);
            int rc = sn_elf_read(&reader, &elf, &err);
            assert_int_equal(rc, cut < 64 ? SONDE_E_FORMAT : SONDE_OK);
            struct sn_symbol_tables tables = {.elf = &elf, .file = reader, .count = 2};
            tables.items[0] = (struct sn_symbol_table){reader, elf.all};
            tables.items[1] = (struct sn_symbol_table){reader, elf.exported};
            sn_symbol_search(&tables, &vaddr, 1, assert_holds, &vaddr);
            free(part.bytes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_read),
        cmocka_unit_test(symbols_hold_what_their_sizes_say),
        cmocka_unit_test(files_without_sections_have_exports_and_bounds),
        cmocka_unit_test(a_batch_tells_each_function_once_in_order),
        cmocka_unit_test(every_cut_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
