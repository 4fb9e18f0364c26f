/* Any bytes as an event of System.Diagnostics.Metrics: texts are whole, and tags, split, are the
 * bytes they were.
 *
 * Input: the event's id, how many of its fields its version lacks, then the payload. */
#include <stdlib.h>

#include "../tests/unit/counter_bytes.h"
#include "sink/aggregate/metric_decode.h"
#include "sonde/error.h"

#define TAG_MAX 8u

/* Put together again, with the signs that were between them. */
static void check_tags(const char *text)
{
    struct sn_metric_tag tags[TAG_MAX];
    size_t size = strlen(text);
    char *copy = malloc(size + 1);
    if (!copy)
        abort();
    memcpy(copy, text, size + 1);
    size_t count = sn_metric_split_tags(copy, tags, TAG_MAX);
    if (count > TAG_MAX || !count != !size)
        abort();
    for (size_t i = 0; i < size; i++) {
        if (copy[i] != text[i] && (copy[i] || !strchr(",=", text[i])))
            abort();
    }
    for (size_t i = 0; i < count; i++) {
        if (tags[i].name < copy || tags[i].name > copy + size || strchr(tags[i].name, '='))
            abort();
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t count = sizeof(metric_schemas) / sizeof(*metric_schemas);
    struct sn_metric_record record;
    struct sn_buf texts = sn_buf_with_limit(1u << 20);
    if (size < 2)
        return 0;
    struct sn_schema schema = metric_schemas[1 + data[0] % (count - 1)];
    schema.field_count = (uint16_t)(schema.field_count - data[1] % schema.field_count);
    struct sn_event event = event_over(&schema, data + 2, size - 2);
    if (sn_metric_decode(&event, &texts, &record) == SONDE_OK) {
        if (strlen(record.tags) > size * 4 || record.quantile_count > SN_METRIC_QUANTILE_MAX)
            abort();
        check_tags(record.tags);
    }
    sn_buf_done(&texts);
    return 0;
}
