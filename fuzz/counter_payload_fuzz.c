/* Any bytes as an EventCounter: a record that is given has a name and a number, and texts that are
 * whole.
 *
 * Input: which of the two layouts, then the payload. */
#include <math.h>
#include <stdlib.h>

#include "../tests/unit/counter_bytes.h"
#include "sink/aggregate/counter_decode.h"
#include "sonde/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_counter_record record;
    struct sn_buf texts = sn_buf_with_limit(1u << 20);
    if (!size)
        return 0;
    struct sn_event event =
        event_over(data[0] & 1u ? &sum_schema : &mean_schema, data + 1, size - 1);
    if (sn_counter_decode(&event, &texts, &record) == SONDE_OK) {
        size_t length = strlen(record.name) + strlen(record.display_name) + strlen(record.unit) +
                        strlen(record.metadata);
        if (!record.name[0] || length > size * 4)
            abort();
        if (isnan(record.is_sum ? record.increment : record.mean))
            abort();
    }
    sn_buf_done(&texts);
    return 0;
}
