/* perf records: every kind decodes, every cut is an error, sizes that lie lead nowhere. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "format/perf_record.h"

#define MISC_13 0x2000u
#define MISC_14 0x4000u

static const struct sn_perf_layout plain = {.sample_type = SN_PERF_COMMON};
static const struct sn_perf_layout rich = {.sample_type = SN_PERF_COMMON | SN_PERF_PERIOD |
                                                          SN_PERF_CALLCHAIN | SN_PERF_RAW |
                                                          SN_PERF_REGS_USER | SN_PERF_STACK_USER,
                                           .user_regs = 7u << 6};

/* --- records as the kernel writes them --- */

static void put_header(struct sn_buf *buf, uint32_t type, uint32_t misc)
{
    sn_buf_clear(buf);
    sn_buf_u32(buf, type);
    sn_buf_u16(buf, (uint16_t)misc);
    sn_buf_u16(buf, 0);
}

static void close_record(struct sn_buf *buf)
{
    uint16_t size = (uint16_t)buf->size;
    assert_int_equal(size % 8, 0);
    memcpy(buf->bytes + 6, &size, sizeof(size));
}

static void put_trailer(struct sn_buf *buf)
{
    sn_buf_u32(buf, 70); /* pid and tid of whoever ran */
    sn_buf_u32(buf, 71);
    sn_buf_u64(buf, 1234567); /* time */
    sn_buf_u32(buf, 3);       /* cpu */
    sn_buf_u32(buf, 0);
    sn_buf_u64(buf, 42); /* the event's id */
    close_record(buf);
}

static void put_text(struct sn_buf *buf, const char *text)
{
    sn_buf_append(buf, text, strlen(text) + 1);
    while (buf->size % 8)
        sn_buf_u8(buf, 0);
}

static void put_rich_sample(struct sn_buf *buf)
{
    put_header(buf, SN_PERF_SAMPLE, 2);
    sn_buf_u64(buf, 42);     /* identifier */
    sn_buf_u64(buf, 0x1000); /* ip */
    sn_buf_u32(buf, 10);
    sn_buf_u32(buf, 11);
    sn_buf_u64(buf, 99); /* time */
    sn_buf_u32(buf, 1);  /* cpu */
    sn_buf_u32(buf, 0);
    sn_buf_u64(buf, 7); /* period */
    sn_buf_u64(buf, 3); /* chain */
    sn_buf_u64(buf, (uint64_t)-512);
    sn_buf_u64(buf, 0x1000);
    sn_buf_u64(buf, 0x2000);
    sn_buf_u32(buf, 4); /* raw */
    sn_buf_append(buf, "abcd", 4);
    sn_buf_u64(buf, 2); /* 64-bit registers */
    sn_buf_u64(buf, 0xb);
    sn_buf_u64(buf, 0x5);
    sn_buf_u64(buf, 0x1000);
    sn_buf_u64(buf, 16); /* stack */
    sn_buf_append(buf, "0123456789abcdef", 16);
    sn_buf_u64(buf, 8); /* of which real */
    close_record(buf);
}

static void put_mmap(struct sn_buf *buf, bool with_build_id)
{
    put_header(buf, SN_PERF_MMAP2, with_build_id ? MISC_14 : 0);
    sn_buf_u32(buf, 10);
    sn_buf_u32(buf, 11);
    sn_buf_u64(buf, 0x7000);
    sn_buf_u64(buf, 0x2000);
    sn_buf_u64(buf, 0x1000);
    if (with_build_id) {
        sn_buf_u32(buf, 20);
        sn_buf_append(buf, "abcdefghijklmnopqrst", 20);
    } else {
        sn_buf_u32(buf, 8);
        sn_buf_u32(buf, 1);
        sn_buf_u64(buf, 777);
        sn_buf_u64(buf, 0);
    }
    sn_buf_u32(buf, 5);
    sn_buf_u32(buf, 2);
    put_text(buf, "/usr/lib/libc.so.6");
    put_trailer(buf);
}

static void put_task(struct sn_buf *buf, uint32_t type)
{
    put_header(buf, type, 0);
    for (uint32_t i = 10; i < 14; i++) /* pid, parent's, tid, parent's */
        sn_buf_u32(buf, i);
    sn_buf_u64(buf, 1234567);
    put_trailer(buf);
}

/* A copy that ends where it ends, so that the sanitizer sees a read too far. */
static int decode(const struct sn_buf *buf, size_t size, const struct sn_perf_layout *layout,
                  struct sn_perf_record *record)
{
    SN_AUTO(sn_free) uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, buf->bytes, size);
    uint64_t id;
    uint64_t time_ns;
    bool is_peeked = sn_perf_record_peek(copy, size, &id, &time_ns);
    int rc = sn_perf_record_decode(copy, size, layout, record, NULL);
    assert_true(is_peeked || rc != SONDE_OK);
    if (rc == SONDE_OK) {
        assert_int_equal(id, record->id);
        assert_int_equal(time_ns, record->time_ns);
    }
    return rc;
}

static void decode_whole(const struct sn_buf *buf, const struct sn_perf_layout *layout,
                         struct sn_perf_record *record)
{
    struct sonde_error err = {0};
    assert_int_equal(sn_perf_record_decode(buf->bytes, buf->size, layout, record, &err), SONDE_OK);
    assert_int_equal(record->id, 42);
    assert_int_equal(decode(buf, buf->size, layout, record), SONDE_OK);
    sn_perf_record_decode(buf->bytes, buf->size, layout, record, NULL); /* pointers that live */
}

/* --- tests --- */

static void a_sample_has_all_its_fields(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(4096);
    struct sn_perf_record record;
    put_rich_sample(&buf);
    decode_whole(&buf, &rich, &record);
    assert_int_equal(record.type, SN_PERF_SAMPLE);
    assert_int_equal(record.pid, 10);
    assert_int_equal(record.tid, 11);
    assert_int_equal(record.time_ns, 99);
    assert_int_equal(record.cpu, 1);
    assert_int_equal(record.sample.ip, 0x1000);
    assert_int_equal(record.sample.period, 7);
    assert_int_equal(record.sample.chain_count, 3);
    assert_int_equal(record.sample.raw_size, 4);
    assert_memory_equal(record.sample.raw, "abcd", 4);
    assert_true(record.sample.has_regs);
    assert_int_equal(record.sample.regs[2], 0x1000);
    assert_int_equal(record.sample.stack_size, 8);
    assert_memory_equal(record.sample.stack, "01234567", 8);
}

static void a_mapping_is_told_with_its_file_or_its_build_id(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(4096);
    struct sn_perf_record record;
    put_mmap(&buf, false);
    decode_whole(&buf, &plain, &record);
    assert_int_equal(record.pid, 10); /* not the trailer's */
    assert_int_equal(record.time_ns, 1234567);
    assert_int_equal(record.cpu, 3);
    assert_int_equal(record.mmap.start, 0x7000);
    assert_int_equal(record.mmap.size, 0x2000);
    assert_int_equal(record.mmap.offset, 0x1000);
    assert_int_equal(record.mmap.device, makedev(8, 1));
    assert_int_equal(record.mmap.inode, 777);
    assert_int_equal(record.mmap.protection, 5);
    assert_int_equal(record.mmap.build_id_size, 0);
    assert_string_equal(record.mmap.path, "/usr/lib/libc.so.6");
    put_mmap(&buf, true);
    decode_whole(&buf, &plain, &record);
    assert_int_equal(record.mmap.inode, 0);
    assert_int_equal(record.mmap.build_id_size, 20);
    assert_memory_equal(record.mmap.build_id, "abcdefghijklmnopqrst", 20);
    assert_string_equal(record.mmap.path, "/usr/lib/libc.so.6");
}

static void names_forks_and_exits_are_about_whom_they_say(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(4096);
    struct sn_perf_record record;
    put_header(&buf, SN_PERF_COMM, MISC_13);
    sn_buf_u32(&buf, 10);
    sn_buf_u32(&buf, 11);
    put_text(&buf, "dotnet");
    put_trailer(&buf);
    decode_whole(&buf, &plain, &record);
    assert_true(record.comm.is_exec);
    assert_string_equal(record.comm.name, "dotnet");
    assert_int_equal(record.tid, 11);
    put_task(&buf, SN_PERF_FORK);
    decode_whole(&buf, &plain, &record);
    assert_int_equal(record.pid, 10);
    assert_int_equal(record.tid, 12);
    assert_int_equal(record.task.parent_pid, 11);
    assert_int_equal(record.task.parent_tid, 13);
    put_task(&buf, SN_PERF_EXIT);
    decode_whole(&buf, &plain, &record);
    assert_int_equal(record.type, SN_PERF_EXIT);
}

static void losses_and_switches_decode(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(4096);
    struct sn_perf_record record;
    put_header(&buf, SN_PERF_LOST, 0);
    sn_buf_u64(&buf, 42);
    sn_buf_u64(&buf, 17);
    put_trailer(&buf);
    decode_whole(&buf, &plain, &record);
    assert_int_equal(record.lost, 17);
    put_header(&buf, SN_PERF_LOST_SAMPLES, 0);
    sn_buf_u64(&buf, 18);
    put_trailer(&buf);
    decode_whole(&buf, &plain, &record);
    assert_int_equal(record.lost, 18);
    put_header(&buf, SN_PERF_SWITCH, MISC_13 | MISC_14);
    put_trailer(&buf);
    decode_whole(&buf, &plain, &record);
    assert_true(record.swap.is_out);
    assert_true(record.swap.was_preempted);
    assert_int_equal(record.tid, 71);
    put_header(&buf, SN_PERF_SWITCH_CPU_WIDE, 0);
    sn_buf_u32(&buf, 5);
    sn_buf_u32(&buf, 6);
    put_trailer(&buf);
    decode_whole(&buf, &plain, &record);
    assert_false(record.swap.is_out);
    assert_int_equal(record.swap.other_tid, 6);
}

static void every_cut_is_an_error(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(4096);
    for (unsigned kind = 0; kind < 4; kind++) {
        const struct sn_perf_layout *layout = kind ? &plain : &rich;
        if (kind == 0)
            put_rich_sample(&buf);
        else if (kind == 1)
            put_task(&buf, SN_PERF_FORK);
        else
            put_mmap(&buf, kind == 2);
        struct sn_perf_record record;
        for (size_t size = 0; size < buf.size; size++)
            assert_true(decode(&buf, size, layout, &record) < 0);
        /* The same with a header that says so. */
        for (size_t size = 8; size < buf.size; size += 8) {
            uint16_t told = (uint16_t)size;
            memcpy(buf.bytes + 6, &told, sizeof(told));
            int rc = decode(&buf, size, layout, &record);
            assert_true(kind || rc < 0);
        }
    }
}

static void sizes_that_lie_are_refused(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(4096);
    struct sn_perf_header header;
    struct sn_perf_record record;
    put_rich_sample(&buf);
    static const uint16_t sizes[] = {0, 1, 7, 9, 63};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        memcpy(buf.bytes + 6, &sizes[i], sizeof(sizes[i]));
        assert_false(sn_perf_header_decode(buf.bytes, buf.size, &header));
        assert_int_equal(decode(&buf, buf.size, &rich, &record), SONDE_E_FORMAT);
    }
    put_rich_sample(&buf);
    uint64_t huge = UINT64_MAX / 8 + 2; /* times eight it is small */
    memcpy(buf.bytes + 56, &huge, sizeof(huge));
    assert_int_equal(decode(&buf, buf.size, &rich, &record), SONDE_E_FORMAT);
}

static void fields_that_are_not_known_are_refused(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(4096);
    struct sn_perf_record record;
    struct sn_perf_layout branches = {.sample_type = SN_PERF_COMMON | 1u << 11};
    struct sn_perf_layout bare = {.sample_type = SN_PERF_TIME};
    struct sn_perf_layout many = {.sample_type = rich.sample_type, .user_regs = 0x1ff};
    put_rich_sample(&buf);
    assert_int_equal(decode(&buf, buf.size, &branches, &record), SONDE_E_UNSUPPORTED);
    assert_int_equal(decode(&buf, buf.size, &bare, &record), SONDE_E_UNSUPPORTED);
    assert_int_equal(decode(&buf, buf.size, &many, &record), SONDE_E_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_has_all_its_fields),
        cmocka_unit_test(a_mapping_is_told_with_its_file_or_its_build_id),
        cmocka_unit_test(names_forks_and_exits_are_about_whom_they_say),
        cmocka_unit_test(losses_and_switches_decode),
        cmocka_unit_test(every_cut_is_an_error),
        cmocka_unit_test(sizes_that_lie_are_refused),
        cmocka_unit_test(fields_that_are_not_known_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
