/* Command lines and other text without what looks like a secret: values of options and settings
 * whose name speaks of one, passwords in addresses, tokens that show what they are. No state.
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

/* The same for text of any kind: messages of exceptions, logs, headers, addresses. Hides the values
 * of settings, options, members and headers whose name speaks of a secret (redact_text.c says how
 * far such a value goes), users and query values of addresses, private keys, and tokens that show
 * what they are. A secret that stands in a sentence by itself is not found: nobody could. */
size_t sn_redact_text(struct sn_buf *to, const char *text, size_t size);

/* The same, but only says where they are, in order: for who covers them in place. */
size_t sn_redact_find(const char *text, size_t size,
                      void (*found)(void *user, size_t at, size_t size), void *user);

#endif
