/* PE images as they lie in memory: what is found in a file is found in the same image when its
 * sections are where a loader puts them, and a wrong guess of the layout is told. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/assembly.h"
#include "format/pe.h"

#define GOLDEN SONDE_SOURCE_DIR "/tests/golden/pdb/"

struct bytes {
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

static bool read_bytes(void *user, uint64_t offset, void *to, size_t size)
{
    const struct bytes *all = user;
    if (offset > all->size || size > all->size - offset)
        return false;
    memcpy(to, all->bytes + offset, size);
    return true;
}

static uint32_t u32_at(const struct sn_buf *file, size_t offset)
{
    uint32_t value = 0;
    assert_true(offset + sizeof(value) <= file->size);
    memcpy(&value, file->bytes + offset, sizeof(value));
    return value;
}

/* As a loader does it: the headers, and each section at its address. */
static struct sn_buf map(const struct sn_buf *file)
{
    struct sn_buf image = sn_buf_with_limit(1u << 20);
    size_t pe = u32_at(file, 60);
    size_t optional_size = u32_at(file, pe + 20) & 0xFFFF;
    size_t count = u32_at(file, pe + 4) >> 16;
    uint32_t size = u32_at(file, pe + 24 + 56);
    uint8_t *room = sn_buf_reserve(&image, size);
    memset(room, 0, size);
    memcpy(room, file->bytes, u32_at(file, pe + 24 + 60));
    for (size_t i = 0; i < count; i++) {
        size_t section = pe + 24 + optional_size + i * 40;
        uint32_t address = u32_at(file, section + 12);
        uint32_t length = u32_at(file, section + 16);
        uint32_t offset = u32_at(file, section + 20);
        length = length < size - address ? length : size - address;
        memcpy(room + address, file->bytes + offset, length);
    }
    sn_buf_grow(&image, size);
    return image;
}

static int read_image(const struct sn_buf *image, enum sn_pe_layout layout,
                      struct sn_pe_image *ret_image)
{
    struct bytes all = {image->bytes, image->size};
    struct sonde_error err = {0};
    int rc = sn_pe_read_image(read_bytes, &all, layout, ret_image, &err);
    assert_int_equal(rc == SONDE_OK, !err.text[0]);
    return rc;
}

/* The same module with the same metadata and the same PDB within, wherever they lie. */
static void assert_same(const struct sn_buf *file, const struct sn_pe_image *in_file,
                        const struct sn_buf *image, const struct sn_pe_image *in_memory)
{
    assert_int_equal(in_file->metadata_size, in_memory->metadata_size);
    assert_memory_equal(file->bytes + in_file->metadata_offset,
                        image->bytes + in_memory->metadata_offset, in_file->metadata_size);
    assert_true(in_memory->debug.has_pdb_id);
    assert_memory_equal(in_file->debug.pdb_guid, in_memory->debug.pdb_guid, 16);
    assert_int_equal(in_file->debug.embedded_size, in_memory->debug.embedded_size);
    assert_memory_equal(file->bytes + in_file->debug.embedded_offset,
                        image->bytes + in_memory->debug.embedded_offset,
                        in_file->debug.embedded_size);
}

static void a_mapped_image_is_read_as_its_file(void **state)
{
    (void)state;
    static const char *const names[] = {"sidecar.dll", "embedded.dll"};
    for (size_t i = 0; i < 2; i++) {
        SN_AUTO(sn_buf_done) struct sn_buf file = load(names[i]);
        SN_AUTO(sn_buf_done) struct sn_buf image = map(&file);
        struct sn_pe_image flat = {0};
        struct sn_pe_image mapped = {0};
        struct sn_pe_image either = {0};
        assert_int_equal(read_image(&file, SN_PE_FLAT, &flat), SONDE_OK);
        assert_int_equal(read_image(&image, SN_PE_MAPPED, &mapped), SONDE_OK);
        assert_int_equal(flat.layout, SN_PE_FLAT);
        assert_int_equal(mapped.layout, SN_PE_MAPPED);
        assert_int_not_equal(flat.metadata_offset, mapped.metadata_offset);
        assert_int_equal(flat.debug.embedded_size != 0, i == 1);
        assert_same(&file, &flat, &image, &mapped);
        assert_int_equal(read_image(&image, SN_PE_EITHER, &either), SONDE_OK);
        assert_memory_equal(&either, &mapped, sizeof(either));
        assert_int_equal(read_image(&file, SN_PE_EITHER, &either), SONDE_OK);
        assert_memory_equal(&either, &flat, sizeof(either));
        assert_int_not_equal(read_image(&image, SN_PE_FLAT, &either), SONDE_OK);
        assert_int_not_equal(read_image(&file, SN_PE_MAPPED, &either), SONDE_OK);
    }
}

/* What tells a runtime's module from another build of it. */
static void the_metadata_of_an_image_tell_its_version(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    SN_AUTO(sn_buf_done) struct sn_buf image = map(&file);
    struct sn_pe_image found = {0};
    struct sn_assembly assembly = {0};
    struct sonde_error err = {0};
    uint8_t guid[16] = {0};
    assert_int_equal(read_image(&image, SN_PE_MAPPED, &found), SONDE_OK);
    assert_int_equal(
        sn_assembly_open(image.bytes + found.metadata_offset, found.metadata_size, &assembly, &err),
        SONDE_OK);
    assert_true(sn_metadata_version_id(&assembly.metadata, guid));
    assert_memory_equal(guid, "\x7c\xd5\xbf\xfb\x96\x76\x46\x4d\xb1\x00\xea\xdb\xea\x1f\x3a\xc2",
                        16);
}

static void every_cut_of_an_image_is_told(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("embedded.dll");
    SN_AUTO(sn_buf_done) struct sn_buf image = map(&file);
    for (int way = 0; way < 4; way++) {
        struct sn_buf *whole = way < 2 ? &file : &image;
        enum sn_pe_layout layout = way == 0 ? SN_PE_FLAT : way == 2 ? SN_PE_MAPPED : SN_PE_EITHER;
        bool was_whole = false;
        for (size_t cut = 0; cut <= whole->size; cut++) {
            struct sn_buf part = {.bytes = whole->bytes, .size = cut};
            struct sn_pe_image found = {0};
            int rc = read_image(&part, layout, &found);
            assert_true(rc == SONDE_OK || rc == SONDE_E_TRUNCATED ||
                        (way == 3 && rc == SONDE_E_FORMAT)); /* no file, when it is no image */
            assert_false(was_whole && rc != SONDE_OK);       /* once it is whole it stays so */
            was_whole = rc == SONDE_OK;
        }
        assert_true(was_whole);
    }
}

/* A directory that was overwritten: the metadata are still found. */
static void an_image_without_a_debug_directory_has_none(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    SN_AUTO(sn_buf_done) struct sn_buf image = map(&file);
    size_t optional = u32_at(&image, 60) + 24;
    size_t first = u32_at(&image, optional) % 0x10000 == 0x20B ? 112 : 96;
    size_t entry = optional + first + (size_t)6 * 8;
    struct sn_pe_image found = {0};
    memset(image.bytes + entry, 0xFF, 4);
    assert_int_equal(read_image(&image, SN_PE_MAPPED, &found), SONDE_OK);
    assert_false(found.debug.has_pdb_id);
    assert_int_equal(found.debug.embedded_size, 0);
    assert_true(found.metadata_size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapped_image_is_read_as_its_file),
        cmocka_unit_test(the_metadata_of_an_image_tell_its_version),
        cmocka_unit_test(every_cut_of_an_image_is_told),
        cmocka_unit_test(an_image_without_a_debug_directory_has_none),
    };
    return cmocka_run_group_tests_name("pe image", tests, NULL, NULL);
}
