/* Call frame rules from bytes written here: what each instruction does, what is refused, and that
 * no cut or size leads anywhere. Beside readelf: tests/interop/cfi_test. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "check.h"
#include "format/eh_frame.h"

#define CODE      0x5000u /* where the functions lie */
#define FUNCTION  0x100u  /* bytes each */
#define HDR_VADDR 0x1000u

struct image {
    struct sn_buf hdr;
    struct sn_buf frames;
    struct sn_buf file; /* the header, then the frames */
    unsigned count;
    size_t cut; /* bytes of the file that can be read */
    unsigned reads;
};

static size_t read_image(void *user, uint64_t offset, void *to, size_t size)
{
    struct image *image = user;
    image->reads++;
    if (offset >= image->cut)
        return 0;
    size_t left = image->cut - (size_t)offset;
    size_t got = size < left ? size : left;
    memcpy(to, image->file.bytes + offset, got);
    return got;
}

static void append_u32(struct sn_buf *buf, uint32_t value)
{
    sn_buf_append(buf, &value, sizeof(value));
}

/* A record: its length, then what `bytes` hold, then no-operations up to a multiple of four. */
static void append_record(struct sn_buf *buf, uint32_t id, const void *bytes, size_t size)
{
    static const uint8_t nops[3];
    size_t padding = -size & 3;
    append_u32(buf, (uint32_t)(sizeof(id) + size + padding));
    append_u32(buf, id);
    sn_buf_append(buf, bytes, size);
    sn_buf_append(buf, nops, padding);
}

/* "zR", code 1, data -8, return 16, pointers udata4 absolute; then rsp+8, return address at -8. */
static const uint8_t plain_cie[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 3, 12, 7, 8, 0x90, 1};

static void begin(struct image *image, const uint8_t *cie, size_t size)
{
    *image = (struct image){.hdr = sn_buf_with_limit(1u << 20),
                            .frames = sn_buf_with_limit(1u << 20),
                            .file = sn_buf_with_limit(1u << 21)};
    append_record(&image->frames, 0, cie, size);
}

/* The next function, with a program of its own. The table's places are made relative at the end. */
static void add(struct image *image, const uint8_t *program, size_t size)
{
    SN_AUTO(sn_buf_done) struct sn_buf body = sn_buf_with_limit(1u << 16);
    uint32_t start = CODE + image->count++ * FUNCTION;
    append_u32(&body, start);
    append_u32(&body, FUNCTION);
    sn_buf_append(&body, "", 1); /* no augmentation data */
    sn_buf_append(&body, program, size);
    append_u32(&image->hdr, start - HDR_VADDR);
    append_u32(&image->hdr, (uint32_t)image->frames.size);
    append_record(&image->frames, (uint32_t)image->frames.size + 4, body.bytes, body.size);
}

static struct sn_eh_frame finish(struct image *image, uint8_t table_encoding)
{
    const uint8_t prefix[] = {1, 0x1b, 3, table_encoding};
    size_t hdr_size = sizeof(prefix) + 8 + image->hdr.size;
    sn_buf_append(&image->file, prefix, sizeof(prefix));
    append_u32(&image->file, 0);
    append_u32(&image->file, image->count);
    for (unsigned i = 0; i < image->count; i++) {
        uint32_t entry[2];
        memcpy(entry, image->hdr.bytes + i * sizeof(entry), sizeof(entry));
        entry[1] += (uint32_t)hdr_size;
        sn_buf_append(&image->file, entry, sizeof(entry));
    }
    sn_buf_append(&image->file, image->frames.bytes, image->frames.size);
    image->cut = image->file.size;
    assert_false(image->file.failed);
    return (struct sn_eh_frame){HDR_VADDR, 0, hdr_size, HDR_VADDR};
}

static void drop(struct image *image)
{
    sn_buf_done(&image->hdr);
    sn_buf_done(&image->frames);
    sn_buf_done(&image->file);
}

/* The row at `at` in a lone function with that program; false: none. */
static bool row_of(const uint8_t *program, size_t size, unsigned at, struct sn_cfi_row *ret_row)
{
    struct image image;
    begin(&image, plain_cie, sizeof(plain_cie));
    add(&image, program, size);
    const struct sn_eh_frame frame = finish(&image, 0x3b);
    const struct sn_read_at file = {read_image, &image};
    bool found = sn_eh_frame_row(&file, &frame, CODE + at, ret_row);
    drop(&image);
    return found;
}

#define ASSERT_CFA(program, at, base_, offset_)                   \
    do {                                                          \
        struct sn_cfi_row row_ = {0};                             \
        assert_true(row_of(program, sizeof(program), at, &row_)); \
        assert_int_equal(row_.base, base_);                       \
        assert_int_equal(row_.offset, offset_);                   \
        assert_int_equal(row_.start, CODE);                       \
        assert_int_equal(row_.size, FUNCTION);                    \
    } while (0)

static void a_function_without_instructions_has_the_rule_of_its_cie(void **state)
{
    (void)state;
    struct sn_cfi_row row = {0};
    assert_true(row_of(NULL, 0, 0x42, &row));
    assert_int_equal(row.base, SN_CFA_RSP);
    assert_int_equal(row.offset, 8);
    assert_int_equal(row.rbp, SN_RBP_KEPT);
    assert_int_equal(row.start, CODE);
    assert_int_equal(row.size, FUNCTION);
}

static void every_advance_leads_to_the_next_row(void **state)
{
    (void)state;
    /* at 1, 0x11, 0x21 and 0x31: the four ways to advance */
    static const uint8_t program[] = {0x41, 14, 16, 2,    0x10, 14, 24, 3,  0x10, 0,
                                      14,   32, 4,  0x10, 0,    0,  0,  14, 40};
    ASSERT_CFA(program, 0, SN_CFA_RSP, 8);
    ASSERT_CFA(program, 1, SN_CFA_RSP, 16);
    ASSERT_CFA(program, 0x10, SN_CFA_RSP, 16);
    ASSERT_CFA(program, 0x11, SN_CFA_RSP, 24);
    ASSERT_CFA(program, 0x21, SN_CFA_RSP, 32);
    ASSERT_CFA(program, 0x30, SN_CFA_RSP, 32);
    ASSERT_CFA(program, 0x31, SN_CFA_RSP, 40);
    ASSERT_CFA(program, 0xff, SN_CFA_RSP, 40);
}

static void a_frame_by_rbp_is_told_with_the_place_of_the_callers(void **state)
{
    (void)state;
    /* push rbp at 1; mov rbp, rsp at 4; leave at 0x20 */
    static const uint8_t program[] = {0x41, 14, 16, 0x86, 2, 0x43, 13, 6, 0x5c, 0xc6, 12, 7, 8};
    struct sn_cfi_row row = {0};
    ASSERT_CFA(program, 1, SN_CFA_RSP, 16);
    ASSERT_CFA(program, 4, SN_CFA_RBP, 16);
    ASSERT_CFA(program, 0x20, SN_CFA_RSP, 8);
    assert_true(row_of(program, sizeof(program), 0, &row));
    assert_int_equal(row.rbp, SN_RBP_KEPT);
    assert_true(row_of(program, sizeof(program), 0x1f, &row));
    assert_int_equal(row.rbp, SN_RBP_SAVED);
    assert_int_equal(row.rbp_offset, -16);
    assert_true(row_of(program, sizeof(program), 0x20, &row));
    assert_int_equal(row.rbp, SN_RBP_KEPT);
}

static void a_remembered_state_comes_back(void **state)
{
    (void)state;
    static const uint8_t program[] = {0x41, 14, 48, 10, 0x41, 14, 8, 0x41, 11};
    ASSERT_CFA(program, 1, SN_CFA_RSP, 48);
    ASSERT_CFA(program, 2, SN_CFA_RSP, 8);
    ASSERT_CFA(program, 3, SN_CFA_RSP, 48);
}

static void states_that_were_not_remembered_or_too_many_are_refused(void **state)
{
    (void)state;
    struct sn_cfi_row row = {0};
    static const uint8_t lone[] = {11};
    uint8_t deep[64];
    memset(deep, 10, sizeof(deep));
    assert_false(row_of(lone, sizeof(lone), 0, &row));
    assert_false(row_of(deep, sizeof(deep), 0, &row));
}

static void an_expression_is_unknown_but_for_the_linkage_table(void **state)
{
    (void)state;
    static const uint8_t other[] = {15, 3, 0x77, 0x10, 0x06};
    static const uint8_t plt[] = {15,   11,   0x77, 0x08, 0x80, 0x00, 0x3f,
                                  0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    ASSERT_CFA(other, 0, SN_CFA_UNKNOWN, 0);
    ASSERT_CFA(plt, 0x10, SN_CFA_RSP, 8);
    ASSERT_CFA(plt, 0x1a, SN_CFA_RSP, 8);
    ASSERT_CFA(plt, 0x1b, SN_CFA_RSP, 16);
}

static void rules_that_cannot_be_are_unknown(void **state)
{
    (void)state;
    static const uint8_t below[] = {14, 0};
    static const uint8_t other_register[] = {12, 10, 16};
    static const uint8_t no_return[] = {7, 16};
    static const uint8_t huge[] = {14, 0x80, 0x80, 0x80, 0x80, 0x10};
    ASSERT_CFA(below, 0, SN_CFA_UNKNOWN, 0);
    ASSERT_CFA(other_register, 0, SN_CFA_UNKNOWN, 0);
    ASSERT_CFA(no_return, 0, SN_CFA_OUTERMOST, 0);
    ASSERT_CFA(huge, 0, SN_CFA_UNKNOWN, 0);
}

static void rbp_in_an_expression_is_unknown_and_the_rest_is_read(void **state)
{
    (void)state;
    static const uint8_t program[] = {16, 6, 2, 0x76, 0, 0x2e, 8, 14, 64};
    struct sn_cfi_row row = {0};
    ASSERT_CFA(program, 0, SN_CFA_RSP, 64);
    assert_true(row_of(program, sizeof(program), 0, &row));
    assert_int_equal(row.rbp, SN_RBP_UNKNOWN);
}

static void an_unknown_instruction_is_refused(void **state)
{
    (void)state;
    static const uint8_t program[] = {0x3f};
    struct sn_cfi_row row = {0};
    assert_false(row_of(program, sizeof(program), 0, &row));
}

/* Many functions, each with a row of its own. */
static struct sn_eh_frame many(struct image *image, unsigned count, uint8_t table_encoding)
{
    begin(image, plain_cie, sizeof(plain_cie));
    for (unsigned i = 0; i < count; i++) {
        const uint8_t program[] = {14, (uint8_t)(8 + 8 * (i % 15))};
        add(image, program, sizeof(program));
    }
    return finish(image, table_encoding);
}

static void the_search_finds_every_function_and_nothing_around_them(void **state)
{
    (void)state;
    struct image image;
    const struct sn_read_at file = {read_image, &image};
    for (unsigned count = 1; count < 300; count += 37) {
        const struct sn_eh_frame frame = many(&image, count, 0x3b);
        for (unsigned i = 0; i < count; i++) {
            struct sn_cfi_row row = {0};
            uint64_t start = 0;
            uint64_t size = 0;
            assert_true(sn_eh_frame_row(&file, &frame, CODE + i * FUNCTION + 0xff, &row));
            assert_int_equal(row.offset, 8 + 8 * (i % 15));
            assert_true(sn_eh_frame_bounds(&file, &frame, CODE + i * FUNCTION, &start, &size));
            assert_int_equal(start, CODE + i * FUNCTION);
            assert_int_equal(size, FUNCTION);
        }
        uint64_t none = 0;
        assert_false(sn_eh_frame_bounds(&file, &frame, CODE - 1, &none, &none));
        assert_false(sn_eh_frame_bounds(&file, &frame, CODE + count * FUNCTION, &none, &none));
        assert_false(sn_eh_frame_bounds(&file, &frame, UINT64_MAX, &none, &none));
        drop(&image);
    }
}

static void tables_of_other_kinds_are_refused(void **state)
{
    (void)state;
    static const uint8_t encodings[] = {0x00, 0x1b, 0x33, 0x3c, 0xbb, 0xff};
    for (size_t i = 0; i < sizeof(encodings); i++) {
        struct image image;
        const struct sn_eh_frame frame = many(&image, 3, encodings[i]);
        const struct sn_read_at file = {read_image, &image};
        struct sn_cfi_row row = {0};
        assert_false(sn_eh_frame_row(&file, &frame, CODE, &row));
        drop(&image);
    }
}

static void a_signals_frame_has_bounds_and_no_rule(void **state)
{
    (void)state;
    static const uint8_t cie[] = {1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 3, 12, 7, 8, 0x90, 1};
    struct image image;
    begin(&image, cie, sizeof(cie));
    add(&image, NULL, 0);
    const struct sn_eh_frame frame = finish(&image, 0x3b);
    const struct sn_read_at file = {read_image, &image};
    struct sn_cfi_row row = {0};
    uint64_t start = 0;
    uint64_t size = 0;
    assert_false(sn_eh_frame_row(&file, &frame, CODE, &row));
    assert_true(sn_eh_frame_bounds(&file, &frame, CODE, &start, &size));
    assert_int_equal(start, CODE);
    drop(&image);
}

static void every_cut_is_refused_or_gives_the_same_row(void **state)
{
    (void)state;
    struct image image;
    const struct sn_eh_frame frame = many(&image, 100, 0x3b);
    const struct sn_read_at file = {read_image, &image};
    size_t whole = image.file.size;
    for (image.cut = 0; image.cut < whole; image.cut++) {
        for (unsigned i = 0; i < 100; i += 33) {
            struct sn_cfi_row row = {0};
            if (sn_eh_frame_row(&file, &frame, CODE + i * FUNCTION, &row))
                assert_int_equal(row.offset, 8 + 8 * (i % 15));
        }
    }
    drop(&image);
}

static void a_count_beyond_the_header_is_cut_to_it(void **state)
{
    (void)state;
    struct image image;
    struct sn_eh_frame frame = many(&image, 5, 0x3b);
    const struct sn_read_at file = {read_image, &image};
    struct sn_cfi_row row = {0};
    memset(image.file.bytes + 8, 0xff, 4);
    assert_true(sn_eh_frame_row(&file, &frame, CODE + 4 * FUNCTION, &row));
    assert_int_equal(row.offset, 40);
    frame.hdr_size = 12;
    assert_false(sn_eh_frame_row(&file, &frame, CODE, &row));
    frame.hdr_size = 0;
    assert_false(sn_eh_frame_row(&file, &frame, CODE, &row));
    drop(&image);
}

static void a_lookup_is_a_handful_of_reads(void **state)
{
    (void)state;
    struct image image;
    const struct sn_eh_frame frame = many(&image, 2000, 0x3b);
    const struct sn_read_at file = {read_image, &image};
    struct sn_cfi_row row = {0};
    assert_true(sn_eh_frame_row(&file, &frame, CODE + 1234 * FUNCTION, &row));
    assert_in_range(image.reads, 1, 12);
    drop(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_without_instructions_has_the_rule_of_its_cie),
        cmocka_unit_test(every_advance_leads_to_the_next_row),
        cmocka_unit_test(a_frame_by_rbp_is_told_with_the_place_of_the_callers),
        cmocka_unit_test(a_remembered_state_comes_back),
        cmocka_unit_test(states_that_were_not_remembered_or_too_many_are_refused),
        cmocka_unit_test(an_expression_is_unknown_but_for_the_linkage_table),
        cmocka_unit_test(rules_that_cannot_be_are_unknown),
        cmocka_unit_test(rbp_in_an_expression_is_unknown_and_the_rest_is_read),
        cmocka_unit_test(an_unknown_instruction_is_refused),
        cmocka_unit_test(the_search_finds_every_function_and_nothing_around_them),
        cmocka_unit_test(tables_of_other_kinds_are_refused),
        cmocka_unit_test(a_signals_frame_has_bounds_and_no_rule),
        cmocka_unit_test(every_cut_is_refused_or_gives_the_same_row),
        cmocka_unit_test(a_count_beyond_the_header_is_cut_to_it),
        cmocka_unit_test(a_lookup_is_a_handful_of_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
