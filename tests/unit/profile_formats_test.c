/* Profiles in the formats of other viewers, read back. */
#include "check.h"

#include <jansson.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/formats.h"
#include "model/profile.h"
#include "sonde/error.h"

static int append(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    (void)err;
    sn_buf_append(user, bytes, size);
    return SONDE_OK;
}

static uint32_t node_of(struct sn_profile *profile, const char *name)
{
    const struct sn_frame frame = {.name = name, .full_name = name, .module = "", .name_space = ""};
    return sn_profile_node(profile, 0, sn_profile_frame(profile, &frame));
}

static void put(struct sn_profile *profile, uint32_t thread_id, const char *name, uint64_t bytes)
{
    sn_profile_add(profile, sn_profile_thread(profile, 7, thread_id, ""), node_of(profile, name),
                   (uint64_t[SN_COLUMN_MAX]){bytes});
}

static struct sn_buf write_as(const char *format, const struct sn_profile *profile, int column,
                              bool has_cpu, bool is_merged)
{
    struct sn_buf out = sn_buf_with_limit(1u << 20);
    struct sn_stream stream;
    struct sonde_error err = {0};
    const struct sn_format_options options = {.title = "shop",
                                              .view = "some view",
                                              .column = column,
                                              .has_cpu = has_cpu,
                                              .merge_threads = is_merged};
    sn_stream_init(&stream, append, &out);
    sn_format_find(format)->write(&stream, profile, &options);
    assert_int_equal(sn_stream_finish(&stream, &err), SONDE_OK);
    sn_stream_done(&stream);
    return out;
}

static json_t *write_chrome(const struct sn_profile *profile)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = write_as("chrome", profile, 0, false, false);
    json_t *root = json_loadb((const char *)out.bytes, out.size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    return root;
}

/* Without a time line each thread begins at nought: the same moment on another thread. */
static void events_of_chrome_stand_on_their_own_threads(void **state)
{
    (void)state;
    static const struct sn_column column = {"bytes", SN_UNIT_BYTES};
    static const struct {
        const char *phase;
        const char *name; /* NULL: ends have none */
        json_int_t thread;
        double ts;
    } wanted[] = {{"B", "First", 10, 0},
                  {"E", NULL, 10, 2.005},
                  {"B", "Second", 11, 0},
                  {"E", NULL, 11, 1.234}};
    struct sn_profile *profile = NULL;
    assert_int_equal(sn_profile_new(&column, 1, &profile, NULL), SONDE_OK);
    put(profile, 10, "First", 2005);
    put(profile, 11, "Second", 1234);
    json_t *root = write_chrome(profile);
    const json_t *events = json_object_get(root, "traceEvents");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const char *phase = json_string_value(json_object_get(event, "ph"));
        if (strcmp(phase, "M") == 0)
            continue;
        assert_true(count < 4);
        assert_string_equal(phase, wanted[count].phase);
        assert_int_equal(json_integer_value(json_object_get(event, "tid")), wanted[count].thread);
        assert_int_equal(json_integer_value(json_object_get(event, "pid")), 7);
        assert_float_equal(json_number_value(json_object_get(event, "ts")), wanted[count].ts, 1e-9);
        if (wanted[count].name)
            assert_string_equal(json_string_value(json_object_get(event, "name")),
                                wanted[count].name);
        count++;
    }
    assert_int_equal(count, 4);
    json_decref(root);
    sn_profile_free(profile);
}

struct found {
    size_t kinds;  /* of values: messages of field 1 */
    uint64_t last; /* the last byte of the last sample, of field 2: its value, if that is small */
};

static struct found read_pprof(const struct sn_buf *file)
{
    uint8_t plain[4096];
    z_stream zip = {.next_in = file->bytes,
                    .avail_in = (uInt)file->size,
                    .next_out = plain,
                    .avail_out = sizeof(plain)};
    struct found found = {0};
    assert_int_equal(inflateInit2(&zip, 15 + 16), Z_OK); /* gzip */
    assert_int_equal(inflate(&zip, Z_FINISH), Z_STREAM_END);
    struct sn_cursor cur = sn_cursor_over(plain, zip.total_out);
    (void)inflateEnd(&zip);
    while (sn_cursor_left(&cur)) {
        uint64_t key = sn_cursor_varuint64(&cur);
        uint64_t value = sn_cursor_varuint64(&cur); /* or a size */
        const uint8_t *bytes = (key & 7) == 2 ? sn_cursor_bytes(&cur, (size_t)value) : NULL;
        found.kinds += key == (1u << 3 | 2u);
        if (bytes && value && key == (2u << 3 | 2u))
            found.last = bytes[value - 1];
    }
    assert_false(cur.bad);
    return found;
}

static void merged_threads_are_added_up(void **state)
{
    (void)state;
    static const struct sn_column column = {"bytes", SN_UNIT_BYTES};
    struct sn_profile *profile = NULL;
    assert_int_equal(sn_profile_new(&column, 1, &profile, NULL), SONDE_OK);
    put(profile, 10, "Same", 30);
    put(profile, 11, "Same", 12);
    SN_AUTO(sn_buf_done) struct sn_buf merged = write_as("pprof", profile, 0, false, true);
    assert_int_equal(read_pprof(&merged).last, 42);
    sn_profile_free(profile);
}

/* Noughts would pass for measured. */
static void without_cpu_times_pprof_has_no_columns_of_them(void **state)
{
    (void)state;
    static const struct sn_column columns[] = {{"cpu", SN_UNIT_NS},
                                               {"wall", SN_UNIT_NS},
                                               {"wait", SN_UNIT_NS},
                                               {"samples", SN_UNIT_COUNT}};
    struct sn_profile *profile = NULL;
    assert_int_equal(sn_profile_new(columns, 4, &profile, NULL), SONDE_OK);
    put(profile, 10, "First", 0);
    SN_AUTO(sn_buf_done) struct sn_buf with = write_as("pprof", profile, 1, true, false);
    SN_AUTO(sn_buf_done) struct sn_buf without = write_as("pprof", profile, 1, false, false);
    assert_int_equal(read_pprof(&with).kinds, 4);
    assert_int_equal(read_pprof(&without).kinds, 2);
    sn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_chrome_stand_on_their_own_threads),
        cmocka_unit_test(merged_threads_are_added_up),
        cmocka_unit_test(without_cpu_times_pprof_has_no_columns_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
