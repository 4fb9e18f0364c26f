/* Command lines without what looks like a secret: values of options and settings whose name speaks
 * of one, passwords in addresses, tokens that show what they are. No state.
 *
 *   --db-password hunter2            --db-password [redacted]
 *   Server=x;Pwd=hunter2;Pool=3      Server=x;Pwd=[redacted];Pool=3
 *   amqp://app:hunter2@queue/        amqp://[redacted]@queue/
 */
#ifndef SN_REDACT_H
#define SN_REDACT_H

#include <stddef.h>

struct sn_buf;

/* Appends the arguments (each ended by a zero, as in /proc/PID/cmdline), joined by blanks. Returns
 * how many pieces were left out. */
size_t sn_redact_arguments(struct sn_buf *to, const char *arguments, size_t size);

#endif
