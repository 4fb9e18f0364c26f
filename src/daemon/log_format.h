/* Messages that programs log, as dotnet-monitor writes them. */
#ifndef SN_LOG_FORMAT_H
#define SN_LOG_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

struct sn_buf;
struct sonde_log_message;

enum sn_log_format {
    SN_LOG_TEXT = 0, /* text/plain */
    SN_LOG_NDJSON,   /* application/x-ndjson */
    SN_LOG_JSON_SEQ, /* application/json-seq: a record separator before each */
};

/* "text/plain" and so on. */
const char *sn_log_format_type(enum sn_log_format format);

/* `is_redacted`: its reader may not see all of it, and JSON says so (member Redacted). */
void sn_log_format_write(enum sn_log_format format, const struct sonde_log_message *message,
                         bool is_redacted, struct sn_buf *to);

/* That `count` messages are missing here, as they were too large: {"lost":1}, or words. */
void sn_log_format_lost(enum sn_log_format format, uint64_t count, struct sn_buf *to);

#endif
