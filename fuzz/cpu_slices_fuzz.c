/* Any bytes as a CPU record: it ends, and what it holds adds up. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "format/cpu_slices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SN_AUTO(sn_cpu_slices_free) struct sn_cpu_slices *slices = NULL;
    SN_AUTO(sn_free) char *copy = malloc(size + 1);
    memcpy(copy, data, size);
    if (sn_cpu_slices_read(copy, size, &slices, NULL) != 0)
        return 0;
    for (size_t i = 0; i < slices->thread_count; i++) {
        const struct sn_cpu_thread *thread = &slices->threads[i];
        uint64_t sum = 0;
        for (size_t j = 0; j < thread->count; j++) {
            sum += thread->slices[j].ran_ns;
            if (!thread->slices[j].look || thread->slices[j].look >= slices->look_count)
                abort();
        }
        if (sum != thread->ran_ns || sn_cpu_slices_thread(slices, thread->thread_id) != thread)
            abort();
    }
    for (size_t i = 1; i < slices->look_count; i++) {
        if (slices->looks[i] < slices->looks[i - 1])
            abort();
    }
    return 0;
}
