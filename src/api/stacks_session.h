/* The short session behind sonde/stacks.h: the runtime stops all its threads every so often and
 * tells where each of them is, a *round*; at the end it tells the names. */
#ifndef SN_STACKS_SESSION_H
#define SN_STACKS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/table.h"
#include "symbol/name_pool.h"

struct sn_lines;
struct sn_methods;
struct sonde_error;
struct sonde_stacks_options;

struct sn_stack_sample {
    uint64_t thread_id; /* as the target counts it */
    uint64_t time_ns;
    size_t offset; /* of its first address in the round's, which are the innermost first */
    uint32_t depth;
    bool is_managed; /* stopped in managed code, and not in what that called */
};

struct sn_stack_round {
    struct sn_stack_sample *samples; /* owns */
    size_t count;
    size_t capacity;
    struct sn_buf addresses; /* uint64_t each */
    struct sn_table threads; /* those that were seen in it */
};

struct sn_stacks_session {
    struct sn_stack_round rounds[2];
    unsigned at;         /* the round that is being filled; the other one is the last that is
                            complete */
    size_t round_count;  /* complete ones so far */
    uint64_t lost_count; /* samples that found no room here or in the target */
    struct sn_name_pool texts;
    struct sn_methods *methods; /* owns */
    struct sn_lines *lines;     /* owns; NULL: not asked for */
    char source[64];            /* "the port of .NET 10.0.12" */
};

/* Waits until it is all there. Zero it before; done in any case. SONDE_END: it was cancelled. */
int sn_stacks_session_run(struct sn_stacks_session *session, uint32_t pid,
                          const struct sonde_stacks_options *options, struct sonde_error *err);
void sn_stacks_session_done(struct sn_stacks_session *session);

static inline void sn_stacks_session_done_auto(struct sn_stacks_session *session)
{
    sn_stacks_session_done(session);
}

/* The last round that is complete; the only one there is when none is. */
const struct sn_stack_round *sn_stacks_session_round(const struct sn_stacks_session *session);

#endif
