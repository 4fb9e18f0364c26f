/* Public events: values of recorded events as the program sent them, hostile payloads, files that
 * are cut, damaged or none. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/event_internal.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "model/event.h"
#include "sonde/file.h"

#define RECORDED SONDE_SOURCE_DIR "/tests/golden/nettrace/"

static const unsigned majors[] = {8, 9, 10};

static const char *recorded(unsigned major, const char *what)
{
    static char path[512];
    (void)snprintf(path, sizeof(path), RECORDED "%u-%s.nettrace", major, what);
    return path;
}

static struct sonde_value field(struct sonde_event *event, const char *name, int type)
{
    struct sonde_value value;
    if (!sonde_event_field(event, name, &value))
        fail_msg("there is no field '%s'", name);
    assert_string_equal(value.name, name);
    assert_int_equal(value.type, type);
    assert_int_equal(value.depth, 0);
    return value;
}

static int64_t signed_field(struct sonde_event *event, const char *name)
{
    return (int64_t)field(event, name, SONDE_TYPE_INT).number;
}

/* --- values as they were sent --- */

static void check_integers(struct sonde_event *event)
{
    assert_int_equal(field(event, "yes", SONDE_TYPE_BOOL).number, 1);
    assert_int_equal(field(event, "u8", SONDE_TYPE_UINT).number, 255);
    assert_int_equal(signed_field(event, "i8"), -128);
    assert_int_equal(signed_field(event, "i16"), -32768);
    assert_int_equal(field(event, "u16", SONDE_TYPE_UINT).number, 65535);
    assert_true(signed_field(event, "i32") >= 0);
    assert_int_equal(field(event, "u32", SONDE_TYPE_UINT).number, UINT32_MAX);
    assert_true(signed_field(event, "i64") == INT64_MIN);
    assert_true(field(event, "u64", SONDE_TYPE_UINT).number == UINT64_MAX);
}

static void check_others(struct sonde_event *event)
{
    static const uint8_t guid[16] = {0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66,
                                     0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    assert_true(field(event, "single", SONDE_TYPE_REAL).real == 1.5);
    assert_true(field(event, "twice", SONDE_TYPE_REAL).real == 3.141592653589793);
    struct sonde_value value = field(event, "guid", SONDE_TYPE_GUID);
    assert_int_equal(value.size, 16);
    assert_memory_equal(value.bytes, guid, 16);
    /* 2024-02-29 12:34:56.789 UTC */
    assert_true(field(event, "when", SONDE_TYPE_TIME).number == 1709210096789000000ull);
    assert_string_equal(field(event, "letter", SONDE_TYPE_TEXT).text, "Ω");
}

static void check_texts(struct sonde_event *event)
{
    struct sonde_value plain = field(event, "plain", SONDE_TYPE_TEXT);
    struct sonde_value empty = field(event, "empty", SONDE_TYPE_TEXT);
    struct sonde_value unicode = field(event, "unicode", SONDE_TYPE_TEXT);
    struct sonde_value surrogates = field(event, "surrogates", SONDE_TYPE_TEXT);
    /* All four at once: each has its own place. */
    assert_string_equal(plain.text, "plain");
    assert_string_equal(empty.text, "");
    assert_string_equal(unicode.text, "grüße 你好");
    assert_int_equal(unicode.size, strlen("grüße 你好"));
    assert_string_equal(surrogates.text, "clef \U0001D11E");
    assert_ptr_equal(field(event, "plain", SONDE_TYPE_TEXT).text, plain.text);
}

/* The runtime declares no layout for an event that has an array: what came is all one has. */
static void check_bytes(struct sonde_event *event)
{
    static const uint8_t sent[] = {6, 0, 0, 0, 0, 1, 2, 253, 254, 255};
    struct sonde_event_info info;
    struct sonde_value value;
    sonde_event_info(event, &info);
    assert_int_equal(sonde_event_next(event, &value), SONDE_E_UNSUPPORTED);
    assert_false(sonde_event_field(event, "bytes", &value));
    assert_non_null(memmem(info.payload, info.payload_size, sent, sizeof(sent)));
}

/* One line a value: "depth type name=value". */
static void walk(struct sonde_event *event, struct sn_buf *to)
{
    struct sonde_value value;
    int rc;
    while ((rc = sonde_event_next(event, &value)) == SONDE_OK)
        sn_buf_format(to, "%u %d %s=%lld%s%s\n", value.depth, value.type, value.name,
                      (long long)value.number, value.text, value.is_array ? "[]" : "");
    assert_int_equal(rc, SONDE_END);
}

static void check_nested(struct sonde_event *event)
{
    SN_AUTO(sn_buf_done) struct sn_buf first = sn_buf_with_limit(65536);
    SN_AUTO(sn_buf_done) struct sn_buf again = sn_buf_with_limit(65536);
    struct sonde_value value;
    walk(event, &first);
    assert_int_equal(sonde_event_next(event, &value), SONDE_OK); /* anew after the end */
    assert_string_equal(value.name, "round");
    sonde_event_rewind(event);
    walk(event, &again);
    const char *text = sn_buf_string(&first);
    assert_string_equal(text, sn_buf_string(&again));
    assert_non_null(strstr(text, "0 9 inner=0\n1 9 point=0\n2 3 X="));
    assert_non_null(strstr(text, "2 5 Label=0p\n1 10 point=0\n1 2 colour=2\n0 10 inner=0\n"
                                 "0 5 last=0end\n"));
}

struct seen {
    unsigned integers;
    unsigned others;
    unsigned texts;
    unsigned bytes;
    unsigned nothing;
    unsigned nested;
    unsigned missing;
};

static void check_named(struct seen *seen, const char *name, struct sonde_event *event)
{
    struct sonde_value value;
    if (strcmp(name, "Integers") == 0) {
        check_integers(event);
        seen->integers++;
    } else if (strcmp(name, "Others") == 0) {
        check_others(event);
        seen->others++;
    } else if (strcmp(name, "Texts") == 0) {
        check_texts(event);
        seen->texts++;
    } else if (strcmp(name, "Bytes") == 0) {
        check_bytes(event);
        seen->bytes++;
    } else if (strcmp(name, "Nested") == 0) {
        check_nested(event);
        seen->nested++;
    } else if (strcmp(name, "MissingText") == 0) {
        assert_string_equal(field(event, "missing", SONDE_TYPE_TEXT).text, "");
        seen->missing++;
    } else if (strcmp(name, "Nothing") == 0) {
        assert_int_equal(sonde_event_next(event, &value), SONDE_END);
        assert_false(sonde_event_field(event, "plain", &value));
        assert_int_equal(value.type, SONDE_TYPE_NONE);
        seen->nothing++;
    }
}

static int check_event(void *user, struct sonde_event *event)
{
    struct sonde_event_info info;
    sonde_event_info(event, &info);
    assert_string_equal(info.provider, "Sonde-Every");
    assert_true(info.pid && info.thread_id && info.time_ns);
    assert_true(info.utc_ns > 1700000000000000000ull);
    check_named(user, info.name, event);
    return SONDE_OK;
}

static void fields_have_the_values_that_were_sent(void **state)
{
    (void)state;
    struct sonde_read_options options = {.size = sizeof(options), .provider = "sonde-every"};
    for (size_t i = 0; i < 3; i++) {
        struct seen seen = {0};
        struct sonde_error err = {0};
        int rc = sonde_file_read(recorded(majors[i], "events"), &options, check_event, &seen, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(rc, SONDE_OK);
        assert_true(seen.integers && seen.others && seen.texts && seen.bytes && seen.nothing);
        assert_true(seen.nested && seen.missing);
    }
}

/* --- which events, in which order, until when --- */

struct tally {
    uint64_t count;
    uint64_t stacked;
    uint64_t lost;
    uint64_t damage_count;
    uint64_t last_ns;
    uint64_t backwards;
    uint64_t undecoded;
    uint64_t limit; /* 0: none */
    int answer;     /* at the limit */
};

static int count_event(void *user, struct sonde_event *event)
{
    struct tally *tally = user;
    struct sonde_event_info info;
    struct sonde_value value;
    int rc;
    sonde_event_info(event, &info);
    tally->count++;
    tally->backwards += info.time_ns < tally->last_ns;
    tally->last_ns = info.time_ns;
    tally->stacked += info.stack_depth && sonde_event_stack(event, 0) &&
                      sonde_event_stack(event, info.stack_depth) == 0;
    do {
        rc = sonde_event_next(event, &value);
    } while (rc == SONDE_OK);
    tally->undecoded += rc != SONDE_END && rc != SONDE_E_UNSUPPORTED;
    return tally->count == tally->limit ? tally->answer : SONDE_OK;
}

static void count_loss(void *user, uint64_t thread_id, uint64_t count)
{
    struct tally *tally = user;
    (void)thread_id;
    tally->lost += count;
}

static void count_damage(void *user, const struct sonde_damage *damage)
{
    struct tally *tally = user;
    assert_true(damage->text[0] != '\0');
    tally->damage_count++;
}

static const struct sonde_read_options all = {
    .size = sizeof(all), .lost = count_loss, .damaged = count_damage};

static struct sonde_file_totals totals_of(const char *path)
{
    struct sonde_summary *summary = NULL;
    struct sonde_file_totals totals;
    assert_int_equal(sonde_file_summarize(path, &summary, NULL), SONDE_OK);
    sonde_summary_totals(summary, &totals);
    sonde_summary_free(summary);
    return totals;
}

static void every_event_comes_once(void **state)
{
    (void)state;
    static const char *const names[] = {"gc", "events", "sampler", "exceptions", "counters"};
    for (size_t i = 0; i < 15; i++) {
        const char *path = recorded(majors[i % 3], names[i / 3]);
        struct tally tally = {0};
        struct sonde_file_totals totals = totals_of(path);
        assert_int_equal(sonde_file_read(path, &all, count_event, &tally, NULL), SONDE_OK);
        assert_true(tally.count == totals.event_count && tally.count);
        assert_true(tally.lost == totals.lost_count);
        assert_int_equal(tally.undecoded, 0);
        assert_true(strcmp(names[i / 3], "sampler") != 0 || tally.stacked);
    }
}

static void no_options_are_fine(void **state)
{
    (void)state;
    struct tally tally = {0};
    assert_int_equal(sonde_file_read(recorded(8, "gc"), NULL, count_event, &tally, NULL), SONDE_OK);
    assert_true(tally.count > 0);
}

static void order_is_by_time_when_wanted(void **state)
{
    (void)state;
    struct tally as_is = {0};
    struct tally merged = {0};
    struct sonde_read_options ordered = {.size = sizeof(ordered), .in_order = true};
    for (size_t i = 0; i < 3; i++) {
        const char *path = recorded(majors[i], "gc");
        merged.last_ns = as_is.last_ns = 0;
        assert_int_equal(sonde_file_read(path, &all, count_event, &as_is, NULL), SONDE_OK);
        assert_int_equal(sonde_file_read(path, &ordered, count_event, &merged, NULL), SONDE_OK);
    }
    assert_true(merged.count == as_is.count);
    assert_int_equal(merged.backwards, 0);
    assert_true(as_is.backwards > 0); /* else this shows nothing */
}

static int expect_name(void *user, struct sonde_event *event)
{
    struct sonde_event_info info;
    sonde_event_info(event, &info);
    assert_string_equal(info.name, "Integers");
    ++*(unsigned *)user;
    return SONDE_OK;
}

static void a_name_selects(void **state)
{
    (void)state;
    unsigned count = 0;
    struct sonde_read_options options = {.size = sizeof(options), .name = "Integers"};
    assert_int_equal(sonde_file_read(recorded(9, "events"), &options, expect_name, &count, NULL),
                     SONDE_OK);
    assert_true(count > 0);
}

static void the_receiver_ends_it(void **state)
{
    (void)state;
    struct tally enough = {.limit = 7, .answer = SONDE_END};
    struct tally broken = {.limit = 7, .answer = SONDE_E_BUSY};
    struct sonde_error err = {0};
    const char *path = recorded(10, "gc");
    assert_int_equal(sonde_file_read(path, &all, count_event, &enough, NULL), SONDE_OK);
    assert_true(enough.count == 7);
    assert_int_equal(sonde_file_read(path, &all, count_event, &broken, &err), SONDE_E_BUSY);
    assert_true(broken.count == 7);
    assert_non_null(strstr(err.text, "given up"));
}

/* --- files that are not whole --- */

static int read_bytes(const void *bytes, size_t size, struct tally *tally)
{
    char path[] = "/tmp/sonde-event-test-XXXXXX";
    SN_AUTO(sn_close) int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(sn_file_write_all(fd, bytes, size, NULL), SONDE_OK);
    int rc = sonde_file_read(path, &all, count_event, tally, NULL);
    (void)unlink(path);
    return rc;
}

static void a_cut_file_gives_all_before_the_cut(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = sn_buf_with_limit(16u << 20);
    assert_int_equal(sn_file_read_at(AT_FDCWD, recorded(9, "events"), &file, NULL), SONDE_OK);
    uint64_t before = 0;
    for (size_t size = 64; size < file.size; size += 1 + file.size / 400) {
        struct tally tally = {0};
        assert_int_equal(read_bytes(file.bytes, size, &tally), SONDE_E_TRUNCATED);
        assert_true(tally.count >= before);
        assert_int_equal(tally.undecoded, 0);
        before = tally.count;
    }
    assert_true(before > 0);
}

static void damage_is_told_and_passed_over(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = sn_buf_with_limit(16u << 20);
    assert_int_equal(sn_file_read_at(AT_FDCWD, recorded(10, "events"), &file, NULL), SONDE_OK);
    uint64_t told = 0;
    for (size_t at = 64; at < file.size; at += 1 + file.size / 200) {
        struct tally tally = {0};
        file.bytes[at] ^= 0xFFu;
        int rc = read_bytes(file.bytes, file.size, &tally);
        assert_true(rc == SONDE_OK || rc == SONDE_E_TRUNCATED || rc == SONDE_E_FORMAT);
        told += tally.damage_count;
        file.bytes[at] ^= 0xFFu;
    }
    assert_true(told > 0);
}

static void what_is_no_trace_is_refused(void **state)
{
    (void)state;
    struct tally tally = {0};
    struct sonde_error err = {0};
    assert_int_equal(sonde_file_read("/nowhere/at.all", &all, count_event, &tally, &err),
                     SONDE_E_NOT_FOUND);
    assert_int_equal(err.system_error, ENOENT);
    assert_int_equal(read_bytes("this is no trace of anything", 28, &tally), SONDE_E_FORMAT);
    assert_true(tally.count == 0);
}

/* --- hostile payloads --- */

static void read_payload(const struct sn_field *fields, uint16_t count, const void *bytes,
                         uint32_t size, struct sonde_event *ret_event)
{
    static struct sn_schema schema;
    static struct sn_event event;
    schema = (struct sn_schema){
        .provider = "P", .name = "N", .has_layout = true, .field_count = count, .fields = fields};
    event = (struct sn_event){
        .schema = &schema, .pointer_size = 8, .payload = bytes, .payload_size = size};
    *ret_event = (struct sonde_event){.event = &event, .texts = sn_buf_with_limit(1u << 20)};
}

static void bad_text_becomes_utf8(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {{.name = "wide", .type = SN_TYPE_STRING16},
                                             {.name = "narrow", .type = SN_TYPE_STRING8}};
    static const uint8_t bytes[] = {0x00, 0xD8, 'a', 0,    0x00, 0xDC, 0x0A, 0,   0,
                                    0,    0xFF, 'b', 0xC3, 0xA4, 0xE2, 0x82, 0x00};
    struct sonde_event event;
    read_payload(fields, 2, bytes, sizeof(bytes), &event);
    struct sonde_value wide = field(&event, "wide", SONDE_TYPE_TEXT);
    struct sonde_value narrow = field(&event, "narrow", SONDE_TYPE_TEXT);
    assert_string_equal(wide.text, "\uFFFDa\uFFFD\n");
    assert_string_equal(narrow.text, "\uFFFDbä\uFFFD\uFFFD");
    assert_int_equal(narrow.size, strlen(narrow.text));
    sn_buf_done(&event.texts);
}

static void texts_that_overlap_stay_within_the_room(void **state)
{
    (void)state;
    static const struct sn_field unit = {.name = "", .type = SN_TYPE_UTF8_UNIT};
    static const struct sn_field fields[] = {
        {.name = "whole", .type = SN_TYPE_DATA_LOC, .child_count = 1, .children = &unit},
        {.name = "part", .type = SN_TYPE_DATA_LOC, .child_count = 1, .children = &unit}};
    static const uint8_t bytes[] = {8, 0, 4, 0, 11, 0, 1, 0, 0xFF, 0xFF, 0xFF, 0xFF};
    struct sonde_event event;
    read_payload(fields, 2, bytes, sizeof(bytes), &event);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(field(&event, "part", SONDE_TYPE_TEXT).size, 3);
        assert_int_equal(field(&event, "whole", SONDE_TYPE_TEXT).size, 4 * 3);
    }
    sn_buf_done(&event.texts);
}

static void times_beyond_the_range_are_the_nearest(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {{.name = "when", .type = SN_TYPE_FILETIME}};
    static const struct {
        uint64_t sent;
        int64_t told;
    } cases[] = {{0, INT64_MIN},
                 {116444736000000000u, 0},
                 {116444735999999999u, -100},
                 {UINT64_MAX, INT64_MAX},
                 {INT64_MAX, INT64_MAX}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sonde_event event;
        read_payload(fields, 1, &cases[i].sent, 8, &event);
        assert_true((int64_t)field(&event, "when", SONDE_TYPE_TIME).number == cases[i].told);
    }
}

static void an_array_is_opened_and_closed(void **state)
{
    (void)state;
    static const struct sn_field element = {.name = "", .type = SN_TYPE_I16};
    static const struct sn_field fields[] = {
        {.name = "numbers", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &element},
        {.name = "last", .type = SN_TYPE_BOOL8}};
    static const uint8_t bytes[] = {2, 0, 0xFF, 0xFF, 7, 0, 9};
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(65536);
    struct sonde_event event;
    read_payload(fields, 2, bytes, sizeof(bytes), &event);
    walk(&event, &text);
    assert_string_equal(sn_buf_string(&text), "0 9 numbers=2[]\n1 3 =-1\n1 3 =7\n"
                                              "0 10 numbers=0[]\n0 1 last=1\n");
    assert_int_equal(field(&event, "numbers", SONDE_TYPE_OPEN).number, 2);
}

static void a_payload_that_is_short_says_so(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {{.name = "a", .type = SN_TYPE_U32},
                                             {.name = "b", .type = SN_TYPE_U64}};
    static const uint8_t bytes[] = {1, 0, 0, 0, 2, 0, 0};
    struct sonde_event event;
    struct sonde_value value;
    read_payload(fields, 2, bytes, sizeof(bytes), &event);
    assert_int_equal(sonde_event_next(&event, &value), SONDE_OK);
    assert_int_equal(value.number, 1);
    assert_int_equal(sonde_event_next(&event, &value), SONDE_E_FORMAT);
    assert_int_equal(sonde_event_next(&event, &value), SONDE_OK); /* anew */
    assert_false(sonde_event_field(&event, "b", &value));
}

static void an_unknown_layout_is_not_nothing(void **state)
{
    (void)state;
    static const struct sn_schema schema = {.provider = "P", .name = "", .has_layout = false};
    static const struct sn_event inner = {
        .schema = &schema, .payload = (const uint8_t *)"x", .payload_size = 1, .pointer_size = 8};
    struct sonde_event event = {.event = &inner, .texts = sn_buf_with_limit(64)};
    struct sonde_value value;
    struct sonde_event_info info;
    assert_int_equal(sonde_event_next(&event, &value), SONDE_E_UNSUPPORTED);
    assert_false(sonde_event_field(&event, "x", &value));
    sonde_event_info(&event, &info);
    assert_int_equal(info.payload_size, 1);
    assert_true(info.utc_ns == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_have_the_values_that_were_sent),
        cmocka_unit_test(every_event_comes_once),
        cmocka_unit_test(no_options_are_fine),
        cmocka_unit_test(order_is_by_time_when_wanted),
        cmocka_unit_test(a_name_selects),
        cmocka_unit_test(the_receiver_ends_it),
        cmocka_unit_test(a_cut_file_gives_all_before_the_cut),
        cmocka_unit_test(damage_is_told_and_passed_over),
        cmocka_unit_test(what_is_no_trace_is_refused),
        cmocka_unit_test(bad_text_becomes_utf8),
        cmocka_unit_test(texts_that_overlap_stay_within_the_room),
        cmocka_unit_test(times_beyond_the_range_are_the_nearest),
        cmocka_unit_test(an_array_is_opened_and_closed),
        cmocka_unit_test(a_payload_that_is_short_says_so),
        cmocka_unit_test(an_unknown_layout_is_not_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
