/* A live view, from inside: what its files share. One thread. */
#ifndef SN_TOP_INTERNAL_H
#define SN_TOP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/top_clocks.h"
#include "api/top_cost.h"
#include "base/arena.h"
#include "sonde/top.h"

struct sn_code;
struct sn_kallsyms;
struct sn_live_maps;
struct sn_machine;
struct sn_top_window;

struct sonde_top {
    struct sn_machine *machine;   /* owns */
    struct sn_code *code;         /* owns */
    struct sn_live_maps *maps;    /* owns */
    struct sn_top_window *window; /* owns */
    struct sn_kallsyms *kernel;   /* owns; NULL: not needed yet, or hidden from us */
    bool has_asked_kernel;
    struct sn_top_clocks clocks; /* of processes that only their runtimes tell of */
    struct sn_top_cost cost;
    uint64_t sample_ns; /* what a CPU sample stands for */
    uint64_t window_ns;
    /* The last snapshots, and the texts they point to. */
    struct sn_arena process_texts;
    struct sonde_top_process *processes; /* owns */
    struct sn_arena method_texts;
    struct sonde_top_method *methods; /* owns */
    double cpu_percent;
    uint32_t process_count;
};

/* Before a snapshot: the window is the present one, and the clocks are read. */
void sn_top_settle(struct sonde_top *top);

/* Percent of one CPU, over the time that the window spans. */
double sn_top_percent(const struct sonde_top *top, uint64_t ns);

#endif
