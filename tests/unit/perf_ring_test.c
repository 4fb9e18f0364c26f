/* A perf ring that is written by the test: records come out whole and in order, over the ring's end
 * too; headers that lie end the reading, never the reader. */
#include "check.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "source/perf/cpus.h"
#include "source/perf/ring.h"

#define KB 8u

struct writer {
    int fd;
    struct sn_ring ring;
    uint8_t *data;
};

static void open_ring(struct writer *writer)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t kb = KB;
    struct sonde_error err = {0};
    writer->fd = memfd_create("ring", MFD_CLOEXEC);
    assert_true(writer->fd >= 0);
    assert_int_equal(ftruncate(writer->fd, (off_t)(page + (size_t)KB * 1024)), 0);
    assert_int_equal(sn_ring_open(&writer->ring, writer->fd, &kb, &err), SONDE_OK);
    assert_int_equal(kb, KB);
    writer->data = (uint8_t *)writer->ring.page + page;
}

static void close_ring(struct writer *writer)
{
    sn_ring_close(&writer->ring);
    (void)close(writer->fd);
}

static void put_bytes(struct writer *writer, const void *bytes, size_t size)
{
    uint64_t head = writer->ring.page->data_head;
    for (size_t i = 0; i < size; i++)
        writer->data[(head + i) & (KB * 1024 - 1)] = ((const uint8_t *)bytes)[i];
    writer->ring.page->data_head = head + size;
}

static void put_record(struct writer *writer, uint16_t size, uint8_t fill)
{
    uint8_t record[4096];
    memset(record, fill, sizeof(record));
    memcpy(record, &(uint32_t){9}, 4);
    memcpy(record + 6, &size, 2);
    put_bytes(writer, record, size < 8 ? 8 : size);
}

static void records_come_out_whole_over_the_end_of_the_ring(void **state)
{
    (void)state;
    struct writer writer;
    open_ring(&writer);
    for (unsigned round = 0; round < 100; round++) {
        uint16_t size = (uint16_t)(8 * (1 + round * 7 % 400));
        put_record(&writer, size, (uint8_t)round);
        put_record(&writer, 24, (uint8_t)(round + 1));
        sn_ring_look(&writer.ring);
        size_t got = 0;
        const uint8_t *record = sn_ring_peek(&writer.ring, &got);
        assert_non_null(record);
        assert_int_equal(got, size);
        for (size_t i = 8; i < got; i++)
            assert_int_equal(record[i], (uint8_t)round);
        sn_ring_pass(&writer.ring);
        assert_non_null(sn_ring_peek(&writer.ring, &got));
        assert_int_equal(got, 24);
        sn_ring_pass(&writer.ring);
        assert_null(sn_ring_peek(&writer.ring, &got));
        assert_int_equal(writer.ring.page->data_tail, writer.ring.page->data_head);
    }
    assert_int_equal(writer.ring.broken_count, 0);
    close_ring(&writer);
}

static void a_header_that_lies_ends_what_is_there_and_no_more(void **state)
{
    (void)state;
    static const uint16_t lies[] = {0, 4, 12, 4096};
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        struct writer writer;
        size_t size;
        open_ring(&writer);
        put_record(&writer, 32, 1);
        uint8_t header[8] = {9};
        memcpy(header + 6, &lies[i], 2);
        put_bytes(&writer, header, sizeof(header));
        put_record(&writer, 32, 2); /* cannot be found any more */
        sn_ring_look(&writer.ring);
        assert_non_null(sn_ring_peek(&writer.ring, &size));
        sn_ring_pass(&writer.ring);
        assert_null(sn_ring_peek(&writer.ring, &size));
        assert_int_equal(writer.ring.broken_count, 1);
        put_record(&writer, 40, 3); /* what comes later can */
        sn_ring_look(&writer.ring);
        assert_non_null(sn_ring_peek(&writer.ring, &size));
        assert_int_equal(size, 40);
        close_ring(&writer);
    }
}

static void a_head_beyond_the_ring_is_not_followed(void **state)
{
    (void)state;
    struct writer writer;
    size_t size;
    open_ring(&writer);
    writer.ring.page->data_head = 1u << 30;
    sn_ring_look(&writer.ring);
    assert_null(sn_ring_peek(&writer.ring, &size));
    assert_int_equal(writer.ring.broken_count, 1);
    assert_true(writer.ring.page->data_tail == 1u << 30); /* the kernel may write again */
    put_record(&writer, 40, 3);
    sn_ring_look(&writer.ring);
    assert_non_null(sn_ring_peek(&writer.ring, &size));
    assert_int_equal(size, 40);
    close_ring(&writer);
}

static void lists_of_cpus_are_read(void **state)
{
    (void)state;
    uint32_t cpus[SN_CPU_MAX];
    assert_int_equal(sn_cpus_parse("0-1,4,6-7\n", cpus, SN_CPU_MAX), 5);
    assert_int_equal(cpus[2], 4);
    assert_int_equal(cpus[4], 7);
    assert_int_equal(sn_cpus_parse("", cpus, SN_CPU_MAX), 0);
    assert_int_equal(sn_cpus_parse("0-99999999999", cpus, 3), 3);
    assert_int_equal(sn_cpus_parse("7-3,x", cpus, 3), 0);
    assert_true(sn_cpus_online(cpus) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_out_whole_over_the_end_of_the_ring),
        cmocka_unit_test(a_header_that_lies_ends_what_is_there_and_no_more),
        cmocka_unit_test(a_head_beyond_the_ring_is_not_followed),
        cmocka_unit_test(lists_of_cpus_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
