/** @file
 * What this user may do on this machine, and to one process, each with the line that changes it.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_CHECK_H
#define SONDE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Whether something can be done. */
enum sonde_verdict {
    SONDE_CHECK_YES,    /**< all of it */
    SONDE_CHECK_PARTLY, /**< not all of it, or not for every process */
    SONDE_CHECK_NO,     /**< none of it */
};

/** One thing that was looked at. Borrowed by the callback. */
struct sonde_finding {
    const char *what;           /**< a short name that scripts can key on, such as "perf.machine" */
    const char *means;          /**< what one can do with it */
    enum sonde_verdict verdict; /**< whether it can be done */
    const char *detail;         /**< what was tried and seen */
    const char *fix;            /**< the line that changes it, or "" */
};

/** Called with each finding. */
typedef void sonde_finding_fn(void *user, const struct sonde_finding *finding);

/** Everything about this machine and user; `pid` 0 for no process, else also about that one. */
int sonde_check(uint32_t pid, sonde_finding_fn *each, void *user, struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
