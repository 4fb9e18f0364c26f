/* What each process of a recording spent, and the list of them. One thread. */
#ifndef SN_MACHINE_PROCESSES_H
#define SN_MACHINE_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

struct sn_code;
struct sn_code_process;
struct sn_report;

struct sn_process_sums {
    uint64_t cpu_ns;
    uint64_t kernel_ns;
    uint64_t off_ns;
    uint64_t run_queue_ns;
    uint64_t sample_count;
    uint32_t thread_count;
};

struct sn_machine_processes {
    struct sn_process_sums *sums; /* owns; one a process of the code */
    size_t count;
};

void sn_machine_processes_done(struct sn_machine_processes *processes);

/* The sums of a process, to add to; NULL without memory. Dies with the next call. */
struct sn_process_sums *sn_machine_processes_of(struct sn_machine_processes *processes,
                                                const struct sn_code_process *process);

/* Writes report->machine.processes. */
void sn_machine_processes_list(const struct sn_machine_processes *processes,
                               const struct sn_code *code, struct sn_report *report);

/* A copy of a process's label in the report. */
const char *sn_machine_process_name(const struct sn_code *code,
                                    const struct sn_code_process *process,
                                    struct sn_report *report);

/* The kernel's name of a thread; one without is called as its process. */
const char *sn_machine_thread_name(const struct sn_code *code,
                                   const struct sn_code_process *process, uint64_t thread_id);

#endif
