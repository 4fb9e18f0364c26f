/* Stacks by the runtime's port: a short session of its sampler, and the names it tells at its end.
 */
#include "api/stacks_internal.h"
#include "api/stacks_session.h"
#include "base/clock.h"
#include "base/own.h"

static uint64_t utc_of(const struct sn_stack_round *round)
{
    uint64_t now = sn_clock_monotonic_ns();
    uint64_t then = round->count ? round->samples[0].time_ns : now;
    return sn_clock_utc_ns() - (then < now ? now - then : 0);
}

int sn_stacks_from_port(struct sonde_stacks *stacks, const struct sonde_stacks_options *options,
                        struct sonde_error *err)
{
    SN_AUTO(sn_stacks_session_done) struct sn_stacks_session session = {0};
    int rc = sn_stacks_session_run(&session, stacks->pid, options, err);
    if (rc != SONDE_OK)
        return rc;
    stacks->utc_ns = utc_of(sn_stacks_session_round(&session));
    stacks->lost_count = session.lost_count;
    stacks->source = sn_stacks_keep(stacks, session.source);
    return sn_stacks_name(stacks, &session, err);
}
