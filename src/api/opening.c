#include "api/opening.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/loop.h"
#include "flow/source.h"
#include "sonde/provider.h"
#include "source/ipc/eventpipe.h"
#include "source/proc/limits.h"

#define SMALLEST_BUFFER_MB 4u

/* A buffer in the target must not be what gets it killed. */
uint32_t sn_opening_buffer_mb(uint32_t usual, uint32_t pid)
{
    uint64_t limit = sn_proc_memory_limit("", pid);
    uint64_t most = limit == UINT64_MAX ? usual : limit / 20 / (1u << 20);
    if (most < SMALLEST_BUFFER_MB)
        return SMALLEST_BUFFER_MB;
    return most < usual ? (uint32_t)most : usual;
}

struct sn_ipc_provider *sn_opening_providers(const struct sonde_provider *from, size_t count)
{
    struct sn_ipc_provider *to = calloc(count + 1, sizeof(*to));
    for (size_t i = 0; to && i < count; i++)
        to[i] =
            (struct sn_ipc_provider){.name = from[i].name,
                                     .arguments = from[i].arguments,
                                     .keywords = from[i].keywords,
                                     .level = from[i].level,
                                     .event_ids = from[i].ids,
                                     .event_id_count = from[i].id_count,
                                     .only_listed = from[i].id_count && !from[i].ids_are_excluded};
    return to;
}

int sn_opening_wait(struct sn_loop *loop, const struct sn_source *source, struct sonde_error *err)
{
    for (;;) {
        struct sn_eventpipe_state state;
        sn_eventpipe_state(source, &state);
        if (source->has_ended && !state.is_open) {
            (void)sn_fail_because(err, state.err, "cannot open a session");
            return source->status;
        }
        if (state.is_open)
            return SONDE_OK;
        int rc = sn_loop_turn(loop, UINT64_MAX, err);
        if (rc != SONDE_OK)
            return rc;
    }
}
