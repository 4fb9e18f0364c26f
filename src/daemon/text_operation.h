/* What operations that write records into a file have in common: records are gathered, written
 * every now and then, and one that is too large leaves the others alone; where it would stand, the
 * file says how many are missing. Roads thread. */
#ifndef SN_TEXT_OPERATION_H
#define SN_TEXT_OPERATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sonde/error.h"

struct sn_artefact;
struct sn_operation;

/* Appends a record that says that `count` records are missing. */
typedef void sn_text_lost_fn(void *user, uint64_t count, struct sn_buf *to);

struct sn_text_output {
    struct sn_artefact *artefact; /* borrows */
    struct sn_buf text;           /* not in the file yet; writers append a record here */
    size_t whole_size;            /* of it: whole records */
    uint64_t lost_count;          /* of records since the file said so */
    sn_text_lost_fn *put_lost;
    void *user;
    struct sonde_error err; /* why the file cannot be written */
};

/* `limit`: of what is gathered, thus of a record; 0: 4 MB. Writes an empty file: nothing is one,
 * too. */
int sn_text_output_begin(struct sn_text_output *output, struct sn_artefact *artefact, size_t limit,
                         struct sonde_error *err);
void sn_text_output_done(struct sn_text_output *output);

/* A record was appended to `text`, or could not be. */
void sn_text_output_put(struct sn_text_output *output);

/* One could not even be begun: it is missing as one that is too large. */
void sn_text_output_lose(struct sn_text_output *output);

/* Into the file with it. The first failure of all. */
int sn_text_output_flush(struct sn_text_output *output);

/* The rest, and then the operation has ended: with `status`, or because the rest did not go. */
void sn_text_output_end(struct sn_text_output *output, struct sn_operation *operation, int status,
                        const char *message);

#endif
