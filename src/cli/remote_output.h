/* What a controller sends, as it comes, to a file or to standard output. A terminal gets nothing
 * that it would obey. */
#ifndef SN_CLI_REMOTE_OUTPUT_H
#define SN_CLI_REMOTE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_remote;
struct sonde_error;

struct sn_remote_output {
    const char *path;    /* NULL, "-": standard output */
    bool is_text;        /* in a pipe, too, it is made harmless */
    uint64_t line_limit; /* the end after so many lines; 0: none */
    uint64_t byte_count; /* so far */
    uint64_t line_count;
    bool was_enough; /* the limit was reached, or the reader has left */
};

/* GET `path` into it. A file is there whole or not at all, unless `is_stream`: then it is there as
 * far as it came, and a stop is a good end. */
int sn_remote_output_fetch(struct sn_remote_output *output, struct sn_remote *remote,
                           const char *path, const char *accept, bool is_stream,
                           struct sonde_error *err);

#endif
