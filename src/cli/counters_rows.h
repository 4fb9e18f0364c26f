/* What the live view lists: processes, their providers, and below them the counters; sorted, folded
 * and filtered. */
#ifndef SN_CLI_COUNTERS_ROWS_H
#define SN_CLI_COUNTERS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

struct sn_counters_shot;
struct sn_shot_process;
struct sonde_error;
struct sonde_point;

enum sn_counters_row_kind {
    SN_ROW_PROCESS,
    SN_ROW_PROVIDER,
    SN_ROW_NAME,   /* of several series that differ in their tags: those follow */
    SN_ROW_SERIES, /* alone, or one of those */
    SN_ROW_DETAIL  /* what the row before it had no room for */
};

struct sn_counters_row {
    enum sn_counters_row_kind kind;
    const struct sn_shot_process *process;
    const struct sonde_point *point; /* of a provider or name: the first; NULL: of a process */
    bool is_below_name;
    bool is_folded;
    size_t series_count; /* of a process or provider */
    uint64_t key;        /* the same from one shot to the next */
};

enum sn_counters_sorting { SN_BY_NAME, SN_BY_VALUE, SN_BY_RATE, SN_SORTING_COUNT };

struct sn_counters_choice {
    uint32_t pid;            /* 0: all processes */
    char filter[64];         /* part of a name, provider or tag, whatever the case; "" for all */
    int sorting;             /* inside a provider */
    bool folds_processes;    /* by default */
    bool is_wide;            /* there is room for details in the row itself */
    struct sn_table flipped; /* keys of rows that are folded, or not, against their default */
    struct sn_table flipped_found; /* the same while there is a filter */
};

struct sn_counters_rows {
    struct sn_counters_row *items; /* owns */
    size_t count;
    size_t capacity;
};

/* Lists a shot, whose parts the rows point to. SONDE_E_NOMEM. */
int sn_counters_rows_make(struct sn_counters_rows *rows, const struct sn_counters_shot *shot,
                          const struct sn_counters_choice *choice, struct sonde_error *err);
void sn_counters_rows_done(struct sn_counters_rows *rows);

/* Folds what a process or provider has below it, or unfolds it; with another filter all of what is
 * found shows again. */
void sn_counters_flip(struct sn_counters_choice *choice, const struct sn_counters_row *row);

#endif
