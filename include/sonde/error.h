/** @file
 * How anything in Sonde fails: one status, one struct, inside the library and out.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_ERROR_H
#define SONDE_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** How a call went: 0 is success, negative failed, positive is no failure but not the ordinary way
 * on.
 */
enum sonde_status {
    SONDE_OK = 0,    /**< done */
    SONDE_END = 1,   /**< nothing more will come */
    SONDE_AGAIN = 2, /**< nothing now, ask later */

    SONDE_E_SYSTEM = -1,      /**< a system call failed; sonde_error.system_error says how */
    SONDE_E_NOMEM = -2,       /**< out of memory */
    SONDE_E_TRUNCATED = -3,   /**< input ended in the middle of something */
    SONDE_E_FORMAT = -4,      /**< input is not what it should be */
    SONDE_E_LIMIT = -5,       /**< over a ceiling of ours */
    SONDE_E_UNSUPPORTED = -6, /**< well-formed, but a version or feature we do not have */
    SONDE_E_ARGUMENT = -7,    /**< the caller asked for something that cannot be */
    SONDE_E_NOT_FOUND = -8,   /**< no such process, file or session */
    SONDE_E_DENIED = -9,      /**< it is there, and we may not */
    SONDE_E_TIMEOUT = -10,    /**< no answer within the deadline */
    SONDE_E_REFUSED = -11,    /**< the runtime answered with an error; sonde_error.hresult has it */
    SONDE_E_GONE = -12,       /**< the target or peer went away meanwhile */
    SONDE_E_BUSY = -13,       /**< somebody else holds it */
};

/** Why a call failed. Zero it before use. The first to know the cause fills it in; nobody
 * overwrites it. */
struct sonde_error {
    int status;       /**< enum sonde_status */
    int system_error; /**< errno at the time, or 0 */
    uint32_t hresult; /**< the runtime's answer, or 0 */
    uint64_t offset;  /**< where in the input, for decoders */
    char text[384];   /**< one line, lower case: what was tried, on what, why it failed */
};

/** A word for a status, such as "truncated"; never NULL. */
const char *sonde_status_name(int status);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
