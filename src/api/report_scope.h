/* Which processes of a recording a report is about: what was asked for, or the choice that is made
 * without; found out while names are read. One thread. */
#ifndef SN_REPORT_SCOPE_H
#define SN_REPORT_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/request.h"
#include "sink/aggregate/machine_processes.h"

struct sn_code;
struct sn_report;
struct sn_sink;
struct sonde_error;

struct sn_report_scope {
    struct sn_code *code;              /* borrows */
    struct sn_machine_processes usage; /* what each was seen to do: picks the busiest */
    uint64_t kernel_count;             /* samples and switches of the kernel */
    uint64_t kernel_last_ns;           /* when the last of them was */
    bool *is_in;                       /* owns; one a process; NULL: all are */
    size_t count;                      /* of is_in */
    bool with_processes;               /* there are several in it */
    uint32_t pid;                      /* of the runtime's topics; 0: any */
};

void sn_report_scope_done(struct sn_report_scope *scope);

static inline void sn_report_scope_done_auto(struct sn_report_scope *scope)
{
    sn_report_scope_done(scope);
}

/* The sink that counts; unordered. Borrows. */
extern const struct sn_request sn_report_scope_request;
struct sn_sink *sn_report_scope_sink(struct sn_report_scope *scope);

/* Once names are read. `process`: a pid or a pattern of names; NULL: none was asked for. `alone`:
 * the pid that a trace of a single runtime tells. */
int sn_report_scope_choose(struct sn_report_scope *scope, const char *process, uint32_t alone,
                           struct sn_report *report, struct sonde_error *err);

#endif
