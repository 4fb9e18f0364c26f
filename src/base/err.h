/* Reporting failures: the first to know writes the cause, everyone above passes it on. */
#ifndef SN_ERR_H
#define SN_ERR_H

#include <stdint.h>

#include "sonde/error.h"

/* Writes the cause into `err` (may be NULL) and returns `status`. For SONDE_E_SYSTEM the text of
 * errno is appended. A cause that is already there stays. */
int sn_fail(struct sonde_error *err, int status, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* SONDE_E_SYSTEM, or a nearer status when errno says so (not found, denied, no memory, gone). */
int sn_fail_errno(struct sonde_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Passes a cause on that lies elsewhere as it is; returns its status. */
int sn_fail_as(struct sonde_error *err, const struct sonde_error *cause);

/* Passes a cause on that lies elsewhere, with what was being done before it: "PREFIX: cause". */
int sn_fail_because(struct sonde_error *err, const struct sonde_error *cause, const char *prefix);

#endif
