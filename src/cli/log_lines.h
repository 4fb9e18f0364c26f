/* Log messages as lines: for people, or as JSON (docs/formats/logs.md). One thread. */
#ifndef SN_CLI_LOG_LINES_H
#define SN_CLI_LOG_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct sn_buf;
struct sonde_log_message;

struct sn_log_lines {
    bool is_json;
    bool has_colour;
    bool no_scopes;
    uint64_t scopes_key; /* of the last message */
    time_t second;       /* of `clock` */
    char clock[16];      /* "13:37:00", local */
};

/* `process` NULL: there is but one, and text does not name it. */
void sn_log_lines_write(struct sn_log_lines *lines, uint32_t pid, const char *process,
                        const struct sonde_log_message *message, struct sn_buf *to);

/* That `count` events were lost, perhaps messages. */
void sn_log_lines_lost(struct sn_log_lines *lines, uint32_t pid, const char *process,
                       uint64_t count, struct sn_buf *to);

#endif
