/* Finds where a version 6 .nettrace file that was cut (its writer was killed) can be continued. No
 * state. */
#ifndef SN_NETTRACE_TAIL_H
#define SN_NETTRACE_TAIL_H

#include <stdbool.h>
#include <stdint.h>

struct sonde_error;

struct sn_nettrace_tail {
    uint64_t offset;    /* behind the last whole block, the end mark not counted */
    uint64_t newest_ns; /* of all events before it; 0: there are none */
    bool is_finished;   /* the stream had its end mark */
};

/* Reads the heads of all blocks with pread; `path` is for messages. SONDE_E_FORMAT: not such a
 * file, or cut before its first block's end. */
int sn_nettrace_find_tail(int fd, const char *path, struct sn_nettrace_tail *ret_tail,
                          struct sonde_error *err);

#endif
