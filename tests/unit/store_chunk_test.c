/* Columns of the store: what goes in comes out, and nothing that is not theirs is taken for them.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sink/store/store_chunk.h"
#include "sink/store/store_points.h"
#include "sink/store/store_profile.h"

static struct sn_store_packer packer;

static struct sn_store_columns made(size_t count, double (*value)(size_t index))
{
    struct sn_store_columns columns = {.count = count, .width = 1};
    for (size_t i = 0; i < count; i++) {
        columns.times_ms[i] = 1700000000000u + i * 1000 + i % 3;
        columns.values[i] = value(i);
    }
    return columns;
}

static double whole(size_t index)
{
    return (double)(index * index) * 4096.0 - 1e6;
}

static double fraction(size_t index)
{
    return sin((double)index) * 100;
}

static double odd(size_t index)
{
    static const double values[] = {-0.0, 0.0, 1e300, -1e-300, 9007199254740992.0, 4.5, INFINITY};
    return values[index % 7];
}

static void check_same(const struct sn_store_columns *a, const struct sn_store_columns *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->width, b->width);
    assert_memory_equal(a->times_ms, b->times_ms, a->count * sizeof(a->times_ms[0]));
    assert_memory_equal(a->values, b->values, a->count * sizeof(a->values[0]));
}

static void check_round_trip(const struct sn_store_columns *columns, size_t largest)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1u << 20);
    struct sn_store_columns back;
    struct sonde_error err = {0};
    assert_int_equal(sn_store_chunk_encode(&packer, columns, &out, &err), SONDE_OK);
    assert_true(out.size <= largest);
    assert_int_equal(sn_store_chunk_decode(&packer, out.bytes, out.size, &back, &err), SONDE_OK);
    check_same(columns, &back);
}

static void chunks_come_back_as_they_were(void **state)
{
    (void)state;
    double (*const kinds[])(size_t) = {whole, fraction, odd};
    for (size_t kind = 0; kind < 3; kind++) {
        for (size_t count = 1; count <= SN_STORE_CHUNK_MAX; count += count < 4 ? 1 : 63) {
            struct sn_store_columns columns = made(count, kinds[kind]);
            check_round_trip(&columns, (size_t)16 * SN_STORE_CHUNK_MAX);
        }
    }
}

/* Points of a route that is asked now and then: nothing was measured in every third interval. */
static struct sn_store_columns made_histograms(size_t points)
{
    struct sn_store_columns columns = {.count = points * SN_STORE_PARTS, .width = SN_STORE_PARTS};
    for (size_t i = 0; i < columns.count; i++) {
        size_t point = i / SN_STORE_PARTS;
        bool is_empty = point % 3 == 0;
        const double parts[SN_STORE_PARTS] = {is_empty ? 0 : (double)point,
                                              is_empty ? 0 : fraction(point),
                                              1,
                                              is_empty ? NAN : 0.5,
                                              is_empty ? NAN : fraction(point + 1),
                                              is_empty ? NAN : fraction(point + 2)};
        columns.times_ms[i] = 1700000000000u + point * 1000 + point % 3;
        columns.values[i] = parts[i % SN_STORE_PARTS];
    }
    return columns;
}

static void chunks_of_histograms_come_back_as_they_were(void **state)
{
    (void)state;
    for (size_t count = 1; count <= SN_STORE_CHUNK_MAX / SN_STORE_PARTS; count += 127) {
        struct sn_store_columns columns = made_histograms(count);
        check_round_trip(&columns, (size_t)16 * SN_STORE_CHUNK_MAX);
    }
    struct sn_store_columns cut = made_histograms(4);
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1u << 20);
    cut.count--;
    assert_int_equal(sn_store_chunk_encode(&packer, &cut, &out, NULL), SONDE_E_ARGUMENT);
}

static void a_clock_that_goes_back_is_kept(void **state)
{
    (void)state;
    struct sn_store_columns columns = made(5, whole);
    columns.times_ms[2] = 5;
    columns.times_ms[3] = UINT64_MAX;
    check_round_trip(&columns, 4096);
}

static double still(size_t index)
{
    (void)index;
    return 17.25;
}

static void what_does_not_change_takes_next_to_nothing(void **state)
{
    (void)state;
    struct sn_store_columns columns = made(120, still);
    for (size_t i = 0; i < columns.count; i++)
        columns.times_ms[i] = 1700000000000u + i * 1000;
    check_round_trip(&columns, 64);
}

static void points_in_memory_come_back(void **state)
{
    (void)state;
    struct sn_store_points points = sn_store_points_none(1);
    struct sn_store_columns columns = made(SN_STORE_CHUNK_MAX, odd);
    struct sn_store_columns back;
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < columns.count; i++)
            assert_true(sn_store_points_add(&points, columns.times_ms[i], columns.values[i]));
        assert_false(sn_store_points_add(&points, 1, 1));
        sn_store_points_read(&points, &back);
        check_same(&columns, &back);
        sn_store_points_clear(&points);
    }
    sn_buf_done(&points.bytes);
}

static void blocks_come_back_as_they_were(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(4u << 20);
    struct sn_store_entry entries[500];
    struct sonde_error err = {0};
    for (size_t i = 0; i < 500; i++)
        entries[i] = (struct sn_store_entry){
            .series_id = i * 7919 % 100, .time_ms = 1700000000000u + i, .value = odd(i)};
    assert_int_equal(sn_store_chunk_encode_block(&packer, entries, 500, &out, &err), SONDE_OK);
    struct sn_store_entry *back = NULL;
    size_t count = 0;
    assert_int_equal(sn_store_chunk_decode_block(&packer, out.bytes, out.size, &back, &count, &err),
                     SONDE_OK);
    assert_int_equal(count, 500);
    assert_memory_equal(entries, back, sizeof(entries));
    free(back);
}

/* --- damage --- */

/* What decodes one of the four (h: a chunk of histograms); whatever it is given it returns, and
 * well. */
static int decode_any(char kind, const uint8_t *bytes, size_t size)
{
    struct sonde_error err = {0};
    struct sn_store_columns columns;
    struct sn_store_entry *entries = NULL;
    struct sn_store_nodes_read nodes = {0};
    struct sn_store_methods_read methods = {0};
    size_t count = 0;
    int rc = SONDE_E_ARGUMENT;
    if (kind == 'c' || kind == 'h')
        rc = sn_store_chunk_decode(&packer, bytes, size, &columns, &err);
    if (kind == 'b')
        rc = sn_store_chunk_decode_block(&packer, bytes, size, &entries, &count, &err);
    if (kind == 'm')
        rc = sn_store_profile_decode_methods(&packer, bytes, size, &methods, &err);
    if (kind == 'n')
        rc = sn_store_profile_decode_nodes(&packer, bytes, size, 3, &nodes, &err);
    free(entries);
    free(nodes.nodes);
    sn_store_methods_read_done(&methods);
    return rc;
}

static void make_any(char kind, struct sn_buf *out)
{
    static const struct sn_store_method methods[] = {
        {"Shop.Basket.Total(int)", "Shop", 5, 10}, {"Main()", "Shop", 0, 20}, {"", "", 1, 1}};
    static const struct sn_store_profile_node nodes[] = {
        {0, UINT32_MAX, 0}, {0, 1, 0}, {1, 0, 5}, {1, 2, 300}};
    struct sn_store_entry entries[20];
    struct sn_store_columns columns = kind == 'h' ? made_histograms(20) : made(20, fraction);
    for (size_t i = 0; i < 20; i++)
        entries[i] = (struct sn_store_entry){i, 1700000000000u, fraction(i)};
    int rc = SONDE_E_ARGUMENT;
    if (kind == 'c' || kind == 'h')
        rc = sn_store_chunk_encode(&packer, &columns, out, NULL);
    if (kind == 'b')
        rc = sn_store_chunk_encode_block(&packer, entries, 20, out, NULL);
    if (kind == 'm')
        rc = sn_store_profile_encode_methods(&packer, methods, 3, out, NULL);
    if (kind == 'n')
        rc = sn_store_profile_encode_nodes(&packer, nodes, 4, out, NULL);
    assert_int_equal(rc, SONDE_OK);
}

/* A copy of its own, so that a sanitizer sees what is read behind it. */
static int decode_copy(char kind, const uint8_t *bytes, size_t size)
{
    SN_AUTO(sn_free) uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return decode_any(kind, copy, size);
}

static void cut_at_every_byte_they_are_damaged(void **state)
{
    (void)state;
    for (const char *kind = "cbmnh"; *kind; kind++) {
        SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1u << 20);
        make_any(*kind, &out);
        assert_int_equal(decode_copy(*kind, out.bytes, out.size), SONDE_OK);
        for (size_t size = 0; size < out.size; size++)
            assert_int_equal(decode_copy(*kind, out.bytes, size), SONDE_E_FORMAT);
        sn_buf_u8(&out, 0);
        assert_int_equal(decode_copy(*kind, out.bytes, out.size), SONDE_E_FORMAT);
    }
}

static void with_any_byte_changed_they_end(void **state)
{
    (void)state;
    for (const char *kind = "cbmnh"; *kind; kind++) {
        SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1u << 20);
        make_any(*kind, &out);
        for (size_t i = 0; i < out.size; i++) {
            uint8_t before = out.bytes[i];
            for (unsigned value = 0; value < 256; value += 15) {
                out.bytes[i] = (uint8_t)value;
                int rc = decode_copy(*kind, out.bytes, out.size);
                assert_true(rc == SONDE_OK || rc == SONDE_E_FORMAT);
            }
            out.bytes[i] = before;
        }
    }
}

static void one_is_not_taken_for_another(void **state)
{
    (void)state;
    for (const char *kind = "cbmn"; *kind; kind++) {
        SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1u << 20);
        make_any(*kind, &out);
        for (const char *other = "cbmn"; *other; other++)
            assert_int_equal(decode_copy(*other, out.bytes, out.size),
                             *other == *kind ? SONDE_OK : SONDE_E_FORMAT);
    }
}

/* Says that it becomes more than there may be. */
static void a_bomb_is_refused(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1u << 20);
    sn_buf_u8(&out, 'c');
    sn_buf_u8(&out, 1);
    sn_buf_varuint(&out, 1ull << 40);
    sn_buf_fill(&out, 0, 100);
    assert_false(out.failed);
    assert_int_equal(decode_copy('c', out.bytes, out.size), SONDE_E_FORMAT);
}

static void a_tree_whose_parents_come_later_is_refused(void **state)
{
    (void)state;
    static const struct sn_store_profile_node nodes[] = {{0, UINT32_MAX, 0}, {2, 0, 1}, {0, 1, 1}};
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1u << 20);
    assert_int_equal(sn_store_profile_encode_nodes(&packer, nodes, 3, &out, NULL),
                     SONDE_E_ARGUMENT);
}

static int done(void **state)
{
    (void)state;
    sn_store_packer_done(&packer);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_come_back_as_they_were),
        cmocka_unit_test(chunks_of_histograms_come_back_as_they_were),
        cmocka_unit_test(a_clock_that_goes_back_is_kept),
        cmocka_unit_test(what_does_not_change_takes_next_to_nothing),
        cmocka_unit_test(points_in_memory_come_back),
        cmocka_unit_test(blocks_come_back_as_they_were),
        cmocka_unit_test(cut_at_every_byte_they_are_damaged),
        cmocka_unit_test(with_any_byte_changed_they_end),
        cmocka_unit_test(one_is_not_taken_for_another),
        cmocka_unit_test(a_bomb_is_refused),
        cmocka_unit_test(a_tree_whose_parents_come_later_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, done);
}
