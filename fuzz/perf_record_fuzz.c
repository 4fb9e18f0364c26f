/* Any bytes as what a perf ring holds: it ends, and what is decoded lies within. The first byte
 * chooses which fields samples have. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "format/perf_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sum;

static void touch(const uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        sum = (uint8_t)(sum + bytes[i]);
}

static void touch_record(const struct sn_perf_record *record)
{
    const struct sn_perf_sample *sample = &record->sample;
    switch (record->type) {
    case SN_PERF_SAMPLE:
        touch(sample->chain, sample->chain_count * 8);
        touch(sample->raw, sample->raw_size);
        touch(sample->stack, sample->stack_size);
        break;
    case SN_PERF_MMAP2:
        touch((const uint8_t *)record->mmap.path, strlen(record->mmap.path));
        if (record->mmap.build_id_size > sizeof(record->mmap.build_id))
            abort();
        break;
    case SN_PERF_COMM: touch((const uint8_t *)record->comm.name, strlen(record->comm.name)); break;
    default: break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    struct sn_perf_layout layout = {.sample_type = SN_PERF_COMMON, .user_regs = 7u << 6};
    static const uint64_t fields[] = {SN_PERF_CALLCHAIN,  SN_PERF_RAW,    SN_PERF_REGS_USER,
                                      SN_PERF_STACK_USER, SN_PERF_PERIOD, SN_PERF_ADDR};
    for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        layout.sample_type |= data[0] >> i & 1u ? fields[i] : 0;
    size_t at = 1;
    struct sn_perf_header header;
    while (sn_perf_header_decode(data + at, size - at, &header)) {
        struct sn_perf_record record;
        size_t left = size - at < header.size ? size - at : header.size;
        SN_AUTO(sn_free) uint8_t *copy = malloc(left);
        memcpy(copy, data + at, left);
        uint64_t id;
        uint64_t time_ns;
        bool is_peeked = sn_perf_record_peek(copy, left, &id, &time_ns);
        if (sn_perf_record_decode(copy, left, &layout, &record, NULL) == 0) {
            if (!is_peeked || id != record.id || time_ns != record.time_ns)
                abort();
            touch_record(&record);
        }
        if (header.size > size - at)
            break;
        at += header.size;
    }
    return 0;
}
