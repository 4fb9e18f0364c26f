/* PE headers, metadata and PDBs: the golden assemblies as System.Reflection.Metadata reads them,
 * numbers by hand, and every cut. */
#include "check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/guid_text.h"
#include "base/own.h"
#include "format/metadata.h"
#include "format/pdb.h"
#include "format/pe.h"
#include "symbol/version_id.h"

#define GOLDEN SONDE_SOURCE_DIR "/tests/golden/pdb/"

struct cut {
    const uint8_t *bytes;
    size_t size;
};

static struct sn_buf load(const char *name)
{
    char path[512];
    struct sonde_error err = {0};
    struct sn_buf file = sn_buf_with_limit(1u << 20);
    assert_true((size_t)snprintf(path, sizeof(path), GOLDEN "%s", name) < sizeof(path));
    if (sn_file_read_at(AT_FDCWD, path, &file, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return file;
}

static bool read_cut(void *user, uint64_t offset, void *to, size_t size)
{
    const struct cut *cut = user;
    if (offset > cut->size || size > cut->size - offset)
        return false;
    memcpy(to, cut->bytes + offset, size);
    return true;
}

/* The words of `traceevent lines`, without its first line. */
static void print_pdb(const struct sn_pdb *pdb, struct sn_buf *out)
{
    for (uint32_t method = 1; method <= pdb->methods.row_count; method++) {
        struct sn_pdb_points points = sn_pdb_points_of(pdb, method);
        struct sn_pdb_point point = {0};
        int rc;
        while ((rc = sn_pdb_points_next(&points, &point)) == SONDE_OK) {
            sn_buf_format(out, "%" PRIu32 " %" PRIu32 " ", method, point.il_offset);
            if (point.line)
                assert_true(sn_pdb_document(pdb, point.document, out));
            if (point.line)
                sn_buf_format(out, ":%" PRIu32 ":%" PRIu32 "\n", point.line, point.column);
            else
                sn_buf_text(out, "hidden\n");
        }
        assert_int_equal(rc, SONDE_END);
        for (uint32_t other = 1; other <= pdb->methods.row_count; other++) {
            if (sn_pdb_machine_of(pdb, other) == method)
                sn_buf_format(out, "%" PRIu32 " starts %" PRIu32 "\n", other, method);
        }
    }
}

static void assert_reads(const struct sn_buf *bytes, const char *expected_name)
{
    SN_AUTO(sn_buf_done) struct sn_buf expected = load(expected_name);
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1u << 20);
    struct sn_pdb pdb = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_pdb_open(bytes->bytes, bytes->size, &pdb, &err), SONDE_OK);
    print_pdb(&pdb, &out);
    assert_string_equal(sn_buf_string(&out), strchr(sn_buf_string(&expected), '\n') + 1);
}

static void unpack_embedded(struct sn_buf *to)
{
    SN_AUTO(sn_buf_done) struct sn_buf file = load("embedded.dll");
    struct cut whole = {file.bytes, file.size};
    struct sn_pe_debug debug = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_pe_read_debug(read_cut, &whole, &debug, &err), SONDE_OK);
    assert_true(debug.has_pdb_id);
    assert_in_range(debug.embedded_offset, 1, file.size);
    assert_in_range(debug.embedded_size, 9, file.size - debug.embedded_offset);
    assert_int_equal(
        sn_pe_unpack(file.bytes + debug.embedded_offset, debug.embedded_size, to, &err), SONDE_OK);
    struct sn_pdb pdb = {0};
    assert_int_equal(sn_pdb_open(to->bytes, to->size, &pdb, &err), SONDE_OK);
    assert_memory_equal(pdb.guid, debug.pdb_guid, 16);
}

static void every_sequence_point_is_read(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf sidecar = load("sidecar.pdb");
    SN_AUTO(sn_buf_done) struct sn_buf embedded = sn_buf_with_limit(1u << 20);
    assert_reads(&sidecar, "sidecar.lines");
    unpack_embedded(&embedded);
    assert_reads(&embedded, "embedded.lines");
}

/* Hidden code belongs to what stands before it; before the first line, to the first line. */
static void offsets_between_points_belong_to_the_one_before(void **state)
{
    (void)state;
    static const struct {
        uint32_t method, il, line;
    } cases[] = {{3, 0, 32},  {3, 11, 32},  {3, 12, 33},  {3, 31, 1000}, {3, 999, 42},
                 {8, 0, 15},  {8, 9, 15},   {8, 29, 15},  {8, 60, 15},   {8, 66, 17},
                 {8, 80, 17}, {8, 202, 19}, {8, 233, 20}, {12, 0, 24}};
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.pdb");
    struct sn_pdb pdb = {0};
    struct sn_pdb_point point = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_pdb_open(file.bytes, file.size, &pdb, &err), SONDE_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_true(sn_pdb_find(&pdb, cases[i].method, cases[i].il, &point));
        assert_int_equal(point.line, cases[i].line);
    }
    assert_false(sn_pdb_find(&pdb, 0, 0, &point));
    assert_false(sn_pdb_find(&pdb, 1, 0, &point)); /* starts a state machine: no lines */
    assert_false(sn_pdb_find(&pdb, 0xFFFFFF, 0, &point));
}

/* A blob of `size` bytes that are all `byte`, behind its size. */
static void put_blob(struct sn_buf *to, uint32_t size, uint8_t byte)
{
    const uint32_t head = 0xC0000000u | size;
    for (int shift = 24; shift >= 0; shift -= 8)
        sn_buf_u8(to, (uint8_t)(head >> shift));
    for (uint32_t i = 0; i < size; i++)
        sn_buf_u8(to, byte);
}

/* Files say how many parts a name has, and how many points a method: that is not for them. */
static void what_a_name_and_a_method_take_has_an_end(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf heap = sn_buf_with_limit(16u << 20);
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(512);
    static const uint8_t row[8] = {1};
    struct sn_pdb pdb = {.documents = {row, 1, 8}, .metadata = {.blob_width = 4}};
    for (uint32_t parts = 255; parts <= 257; parts++) {
        sn_buf_clear(&heap);
        sn_buf_clear(&name);
        sn_buf_u8(&heap, 0);
        put_blob(&heap, parts + 1, 0); /* no separator, and parts that are empty */
        heap.bytes[5] = '/';           /* or one */
        pdb.metadata.blob = (struct sn_metadata_stream){heap.bytes, heap.size};
        assert_int_equal(sn_pdb_document(&pdb, 1, &name), parts <= 256);
        assert_true(name.size <= 256);
    }
    struct sn_pdb_point point;
    uint32_t count = 0;
    sn_buf_clear(&heap);
    put_blob(&heap, 6u << 20, 0); /* hidden code: no lines, no columns */
    for (size_t step = 4; step < heap.size; step += 3)
        heap.bytes[step] = 1;
    struct sn_pdb_points points = {.cur = sn_cursor_over(heap.bytes + 4, heap.size - 4)};
    int status;
    while ((status = sn_pdb_points_next(&points, &point)) == SONDE_OK)
        count++;
    assert_int_equal(status, SONDE_E_FORMAT);
    assert_int_equal(count, 1u << 20);
}

static void numbers_of_metadata_are_read(void **state)
{
    (void)state;
    /* ECMA-335 II.23.2 has these. */
    static const struct {
        uint8_t bytes[4];
        uint32_t number;
        int32_t folded;
        size_t size;
    } cases[] = {
        {{0x03}, 3, -63, 1},
        {{0x06}, 6, 3, 1},
        {{0x7B}, 0x7B, -3, 1},
        {{0x7F}, 0x7F, -1, 1},
        {{0x01}, 1, -64, 1},
        {{0x80, 0x80}, 0x80, 64, 2},
        {{0xAE, 0x57}, 0x2E57, 0x172B - 8192, 2},
        {{0xBF, 0xFF}, 0x3FFF, -1, 2},
        {{0x80, 0x01}, 1, -8192, 2},
        {{0xC0, 0x00, 0x40, 0x00}, 0x4000, 8192, 4},
        {{0xDF, 0xFF, 0xFF, 0xFE}, 0x1FFFFFFE, 268435455, 4},
        {{0xC0, 0x00, 0x00, 0x01}, 1, -268435456, 4},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (size_t cut = 0; cut <= cases[i].size; cut++) {
            struct sn_cursor plain = sn_cursor_over(cases[i].bytes, cut);
            struct sn_cursor folded = plain;
            bool is_whole = cut == cases[i].size;
            assert_int_equal(sn_metadata_unsigned(&plain), is_whole ? cases[i].number : 0);
            int32_t number = sn_metadata_signed(&folded);
            assert_int_equal(plain.bad, !is_whole);
            assert_int_equal(folded.bad, !is_whole);
            if (is_whole)
                assert_int_equal(number, cases[i].folded);
        }
    }
    struct sn_cursor none = sn_cursor_over("\xFF\xFF\xFF\xFF", 4);
    assert_int_equal(sn_metadata_unsigned(&none), 0);
    assert_true(none.bad);
}

/* Its streams lie one behind the other to its end, so none of the cuts leaves it whole. */
static void every_cut_of_a_pdb_is_told(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.pdb");
    for (size_t cut = 0; cut < file.size; cut++) {
        SN_AUTO(sn_free) uint8_t *copy = malloc(cut ? cut : 1);
        struct sn_pdb pdb = {0};
        struct sonde_error err = {0};
        assert_non_null(copy);
        memcpy(copy, file.bytes, cut);
        int rc = sn_pdb_open(copy, cut, &pdb, &err);
        assert_true(rc == SONDE_E_TRUNCATED || rc == SONDE_E_FORMAT);
        assert_true(err.text[0]);
    }
}

static void every_byte_of_a_pdb_may_be_wrong(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.pdb");
    for (size_t i = 0; i < file.size; i++) {
        struct sn_pdb pdb = {0};
        struct sn_pdb_point point = {0};
        struct sonde_error err = {0};
        file.bytes[i] ^= 0xFF;
        if (sn_pdb_open(file.bytes, file.size, &pdb, &err) == SONDE_OK) {
            for (uint32_t method = 1; method <= 12; method++)
                (void)sn_pdb_find(&pdb, method, 50, &point); /* no crash is the point */
        }
        file.bytes[i] ^= 0xFF;
    }
}

static void every_cut_of_an_assembly_is_told(void **state)
{
    (void)state;
    static const char *const names[] = {"sidecar.dll", "embedded.dll"};
    for (size_t i = 0; i < 2; i++) {
        SN_AUTO(sn_buf_done) struct sn_buf file = load(names[i]);
        bool was_whole = false;
        for (size_t cut = 0; cut <= file.size; cut++) {
            struct cut part = {file.bytes, cut};
            struct sn_pe_debug debug = {0};
            struct sonde_error err = {0};
            int rc = sn_pe_read_debug(read_cut, &part, &debug, &err);
            assert_true(rc == SONDE_OK || rc == SONDE_E_TRUNCATED);
            assert_false(was_whole && rc != SONDE_OK); /* once it is whole it stays so */
            was_whole = rc == SONDE_OK;
        }
        assert_true(was_whole);
    }
}

/* As System.Reflection.Metadata tells them. */
static void the_version_of_a_module_is_read(void **state)
{
    (void)state;
    static const char *const known[][2] = {
        {"sidecar.dll", "fbbfd57c-7696-4d46-b100-eadbea1f3ac2"},
        {"embedded.dll", "61ea378b-ccb8-4c3c-9067-758b2d54bb76"},
    };
    for (size_t i = 0; i < 2; i++) {
        char path[512];
        char text[SN_GUID_LENGTH + 1];
        uint8_t guid[16];
        size_t budget = 1u << 20;
        assert_true((size_t)snprintf(path, sizeof(path), GOLDEN "%s", known[i][0]) < sizeof(path));
        assert_true(sn_version_id_read(0, path, &budget, guid));
        assert_string_equal(sn_guid_write(guid, text), known[i][1]);
        budget = 16; /* of less than its metadata nothing is read */
        assert_false(sn_version_id_read(0, path, &budget, guid));
        assert_string_equal(sn_guid_write(guid, text), "00000000-0000-0000-0000-000000000000");
    }
}

static void every_cut_of_metadata_is_told(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    struct cut whole = {file.bytes, file.size};
    struct sonde_error err = {0};
    uint64_t offset = 0;
    uint32_t size = 0;
    assert_int_equal(sn_pe_find_metadata(read_cut, &whole, &offset, &size, &err), SONDE_OK);
    assert_true(offset + size <= file.size);
    bool was_whole = false;
    for (size_t cut = 0; cut <= offset + size; cut++) {
        struct cut part = {file.bytes, cut};
        struct sn_metadata metadata = {0};
        struct sonde_error why = {0};
        uint64_t at = 0;
        uint32_t length = 0;
        uint8_t guid[16];
        int rc = sn_pe_find_metadata(read_cut, &part, &at, &length, &why);
        assert_true(rc == SONDE_OK || rc == SONDE_E_TRUNCATED);
        assert_false(was_whole && rc != SONDE_OK);
        was_whole = rc == SONDE_OK;
        if (cut < offset)
            continue;
        SN_AUTO(sn_free) uint8_t *copy = malloc(cut - offset + 1);
        memcpy(copy, file.bytes + offset, cut - offset);
        if (sn_metadata_open(copy, cut - offset, &metadata, &why) == SONDE_OK)
            (void)sn_metadata_version_id(&metadata, guid);
        else
            assert_true(cut < offset + size);
    }
    assert_true(was_whole);
}

static void every_cut_of_a_packed_pdb_is_told(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("embedded.dll");
    struct cut whole = {file.bytes, file.size};
    struct sn_pe_debug debug = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_pe_read_debug(read_cut, &whole, &debug, &err), SONDE_OK);
    const uint8_t *packed = file.bytes + debug.embedded_offset;
    for (size_t cut = 0; cut < debug.embedded_size; cut++) {
        SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(1u << 20);
        assert_int_equal(sn_pe_unpack(packed, cut, &to, &err), SONDE_E_FORMAT);
        assert_int_equal(to.size, 0);
    }
    SN_AUTO(sn_buf_done) struct sn_buf small = sn_buf_with_limit(100);
    assert_int_equal(sn_pe_unpack(packed, debug.embedded_size, &small, &err), SONDE_E_LIMIT);
    uint8_t lie[16] = {'M', 'P', 'D', 'B', 0xFF, 0xFF, 0xFF, 0x0F};
    SN_AUTO(sn_buf_done) struct sn_buf large = sn_buf_with_limit(1u << 30);
    assert_int_equal(sn_pe_unpack(lie, sizeof(lie), &large, &err), SONDE_E_FORMAT);
    assert_int_equal(large.capacity, 0); /* nothing was made ready for it */
}

static void what_is_no_pdb_is_refused(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    struct cut text = {
        (const uint8_t *)"#!/bin/sh, and then a good deal more of a script text......"
                         "........................",
        80};
    struct sn_pdb pdb = {0};
    struct sn_pe_debug debug = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_pdb_open(file.bytes, file.size, &pdb, &err), SONDE_E_FORMAT);
    assert_non_null(strstr(err.text, "BSJB"));
    const uint8_t *metadata = memmem(file.bytes, file.size, "BSJB", 4);
    assert_non_null(metadata);
    err = (struct sonde_error){0};
    assert_int_not_equal(
        sn_pdb_open(metadata, file.size - (size_t)(metadata - file.bytes), &pdb, &err), SONDE_OK);
    assert_non_null(strstr(err.text, "PDB"));
    err = (struct sonde_error){0};
    assert_int_equal(sn_pe_read_debug(read_cut, &text, &debug, &err), SONDE_E_FORMAT);
    assert_non_null(strstr(err.text, "MZ"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sequence_point_is_read),
        cmocka_unit_test(offsets_between_points_belong_to_the_one_before),
        cmocka_unit_test(what_a_name_and_a_method_take_has_an_end),
        cmocka_unit_test(numbers_of_metadata_are_read),
        cmocka_unit_test(every_cut_of_a_pdb_is_told),
        cmocka_unit_test(every_byte_of_a_pdb_may_be_wrong),
        cmocka_unit_test(every_cut_of_an_assembly_is_told),
        cmocka_unit_test(the_version_of_a_module_is_read),
        cmocka_unit_test(every_cut_of_metadata_is_told),
        cmocka_unit_test(every_cut_of_a_packed_pdb_is_told),
        cmocka_unit_test(what_is_no_pdb_is_refused),
    };
    return cmocka_run_group_tests_name("pdb", tests, NULL, NULL);
}
