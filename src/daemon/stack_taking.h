/* Taking stacks of a process for whoever asks over HTTP: one at a time of each process, a few at a
 * time of all; who comes meanwhile waits a second for their turn. From workers: it waits. */
#ifndef SN_STACK_TAKING_H
#define SN_STACK_TAKING_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/route.h"
#include "sonde/error.h"

struct sn_buf;
struct sn_daemon;
struct sn_stack_taking;

int sn_stack_taking_new(struct sn_stack_taking **ret_taking, struct sonde_error *err);
void sn_stack_taking_free(struct sn_stack_taking *taking);

struct sn_stack_request {
    uint32_t pid;
    const char *format; /* as sonde_stacks_write has them */
    bool with_lines;
    bool with_native;
    bool with_tasks;
    bool with_locks;
    int way;                          /* enum sonde_stacks_way */
    bool (*is_cancelled)(void *user); /* NULL: never */
    void *cancel_user;
};

/* Appends them to `out`. SONDE_E_LIMIT: others are at it for longer than a turn; SONDE_END: it was
 * cancelled; else as sonde_stacks_take. */
int sn_stack_taking_write(struct sn_stack_taking *taking, const struct sn_stack_request *request,
                          struct sn_buf *out, struct sonde_error *err);

/* "application/json" of "json". */
const char *sn_stack_taking_type(const char *format);

extern const struct sn_route sn_stack_routes[];

#endif
