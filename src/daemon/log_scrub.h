/* Messages of logs without what looks like a secret, for who has not the secrets scope. Values
 * whose name speaks of one are hidden, and wherever they stand in the text; the rest is looked at
 * as any text is (base/redact.h). A value called `query` is hidden when it has settings in it, as
 * "?code=..." has; a term that somebody searched for is no secret. */
#ifndef SN_LOG_SCRUB_H
#define SN_LOG_SCRUB_H

#include <stdbool.h>

#include "base/arena.h"

struct sonde_log_message;

struct sn_log_scrub {
    struct sn_arena arena; /* of the last message */
    bool has_hidden;       /* something of it is not shown */
};

/* *ret_message borrows until the next call. What there is no memory for is hidden. */
void sn_log_scrub_message(struct sn_log_scrub *scrub, const struct sonde_log_message *message,
                          struct sonde_log_message *ret_message);
void sn_log_scrub_done(struct sn_log_scrub *scrub);

#endif
