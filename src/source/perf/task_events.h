/* What is told on the road of a process: that it is there, its mappings and threads, its end. What
 * others need to know before comes before, once. One thread. */
#ifndef SN_TASK_EVENTS_H
#define SN_TASK_EVENTS_H

#include <stdint.h>

#include "source/perf/mapped_files.h"

struct sn_mapping;
struct sn_objects;
struct sn_outlet;
struct sn_task;

struct sn_task_events {
    struct sn_outlet *outlet;   /* borrows */
    struct sn_objects *objects; /* borrows; or NULL */
    struct sn_mapped_files files;
    uint32_t last_mapping_id;
};

void sn_task_events_init(struct sn_task_events *events, struct sn_outlet *outlet,
                         struct sn_objects *objects);
void sn_task_events_done(struct sn_task_events *events);

void sn_task_events_process(struct sn_task_events *events, struct sn_task *task, uint64_t time_ns);
void sn_task_events_exit(struct sn_task_events *events, struct sn_task *task, uint64_t time_ns);
void sn_task_events_thread(struct sn_task_events *events, const struct sn_task *task, uint32_t tid,
                           const char *name, uint64_t time_ns);
void sn_task_events_thread_exit(struct sn_task_events *events, const struct sn_task *task,
                                uint32_t tid, uint64_t time_ns);
void sn_task_events_mapping(struct sn_task_events *events, const struct sn_task *task,
                            struct sn_mapping *mapping, uint64_t time_ns);
void sn_task_events_kernel(struct sn_task_events *events, struct sn_task *task, uint64_t time_ns);

/* The object behind a mapping, opened now if nobody asked before; 0: none. */
uint32_t sn_task_events_object(struct sn_task_events *events, const struct sn_task *task,
                               const struct sn_mapping *mapping);

#endif
