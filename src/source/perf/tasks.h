/* The processes in scope: their names, their executable mappings, when they came and went, as the
 * rings' records and /proc tell. Tells of them on the road; of a mapping only once a stack runs
 * through it. One thread. */
#ifndef SN_TASKS_H
#define SN_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/perf/mappings.h"

struct sn_kernel_scope;
struct sn_objects;
struct sn_outlet;
struct sn_perf_record;
struct sn_task_events;
struct sn_tasks;
struct sonde_error;

#define SN_TASK_NAME_SIZE 16u

/* Everything a process has of the kernel's addresses; one id for all processes, so that symbols of
 * the kernel are told once. */
#define SN_KERNEL_MAPPING_ID    1u
#define SN_KERNEL_MAPPING_START 0xffff800000000000u
#define SN_KERNEL_MAPPING_END   0xffffffffffffffffu

struct sn_task {
    uint32_t pid;
    bool is_new;      /* it began while we recorded */
    bool is_told;     /* the road knows the process */
    bool is_followed; /* in scope by its pid or an ancestor's, whatever its name becomes */
    bool has_kernel;  /* the road knows that it has the kernel mapped */
    bool is_held;     /* it has not begun: nothing is told until it executes its program */
    bool is_partial;  /* its mappings could not be read: those known are not all */
    char name[SN_TASK_NAME_SIZE];
    struct sn_mappings mappings;
    uint64_t since_ns;        /* records older than that are contained in what is known */
    uint64_t exited_ns;       /* 0: it lives */
    uint64_t next_reading_ns; /* not before then are its mappings read anew */
    uint64_t reading_pause_ns;
};

/* `scope` is copied; the others are borrowed, `objects` may be NULL. */
int sn_tasks_new(const struct sn_kernel_scope *scope, struct sn_outlet *outlet,
                 struct sn_objects *objects, struct sn_tasks **ret_tasks, struct sonde_error *err);
void sn_tasks_free(struct sn_tasks *tasks);

/* Asked before a process that runs already is taken in; false: leave it. Here one begins to listen
 * to it. */
typedef bool sn_tasks_admit_fn(void *user, uint32_t pid);
void sn_tasks_set_admit(struct sn_tasks *tasks, sn_tasks_admit_fn *admit, void *user);

/* Looks through /proc for processes in scope. `time_ns`: since when what it finds holds on the
 * road. `with_children`: also those whose parent is in scope (records of their birth were lost). */
void sn_tasks_scan(struct sn_tasks *tasks, uint64_t time_ns, bool with_children);

/* The same for one process. */
void sn_tasks_look_at(struct sn_tasks *tasks, uint32_t pid, uint64_t time_ns, bool with_children);

/* Takes a process into the scope. SONDE_E_NOT_FOUND, SONDE_E_DENIED, SONDE_E_LIMIT. */
int sn_tasks_add(struct sn_tasks *tasks, uint32_t pid, uint64_t time_ns, struct sonde_error *err);

/* NULL: not in scope, or not known. Borrowed until the next record. */
struct sn_task *sn_tasks_find(const struct sn_tasks *tasks, uint32_t pid);

/* The same for a process that ran at `time_ns`; one whose beginning was missed is looked up in
 * /proc, if the scope is everybody. Its process event is on the road then. */
struct sn_task *sn_tasks_meet(struct sn_tasks *tasks, uint32_t pid, uint64_t time_ns);

/* Records about processes, threads and mappings; others are passed over. */
void sn_tasks_take(struct sn_tasks *tasks, const struct sn_perf_record *record);

/* The executable mapping that holds a user address, or NULL; what is not known yet is looked for in
 * /proc. Borrowed until the next record. */
struct sn_mapping *sn_tasks_mapping(struct sn_tasks *tasks, struct sn_task *task, uint64_t address,
                                    uint64_t time_ns);

/* For whoever puts events about a process and its mappings on the road. Borrowed. */
struct sn_task_events *sn_tasks_events(struct sn_tasks *tasks);

/* Records were lost: mappings may be missing, and will be read anew when an address lies in none;
 * processes may have ended, and those that did are told of. */
void sn_tasks_doubt(struct sn_tasks *tasks, uint64_t time_ns);

/* Forgets processes that ended well before `time_ns`. */
void sn_tasks_sweep(struct sn_tasks *tasks, uint64_t time_ns);

/* A pid of the scope that no process has; 0: none. */
uint32_t sn_tasks_missing(const struct sn_tasks *tasks);

/* How many were in scope so far. */
uint32_t sn_tasks_seen(const struct sn_tasks *tasks);

typedef void sn_task_fn(void *user, struct sn_task *task);
void sn_tasks_each(const struct sn_tasks *tasks, sn_task_fn *visit, void *user);

#endif
