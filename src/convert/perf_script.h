/* The text of `perf script` as perfcollect asks for it, which PerfView and others read. No state.
 */
#ifndef SN_PERF_SCRIPT_H
#define SN_PERF_SCRIPT_H

#include <stdint.h>

struct sn_buf;

struct sn_perf_script_event {
    const char *command; /* of the process; may hold anything */
    uint32_t pid;
    uint64_t thread_id;
    uint32_t cpu;
    uint64_t time_ns;
};

/* A CPU sample that stands for `period_ns`; its frames follow, then the end. */
void sn_perf_script_sample(struct sn_buf *to, const struct sn_perf_script_event *event,
                           uint64_t period_ns);

/* The thread leaves its CPU in state R, S, D, ...; frames follow, then the end. */
void sn_perf_script_leave(struct sn_buf *to, const struct sn_perf_script_event *event, char state);

/* It comes back; the end follows. The line says that it follows itself: what ran meanwhile would
 * be taken for blocked. */
void sn_perf_script_return(struct sn_buf *to, const struct sn_perf_script_event *event);

/* Leaf first. */
void sn_perf_script_frame(struct sn_buf *to, uint64_t address, const char *symbol,
                          const char *module);
void sn_perf_script_end(struct sn_buf *to);

#endif
