/* What is told of a recording when it is over: for people, as JSON, as an exit code. */
#ifndef SN_CLI_RECORD_OUTCOME_H
#define SN_CLI_RECORD_OUTCOME_H

#include <stdio.h>

struct sn_record_run;
struct sonde_error;
struct sonde_record_stats;

/* What the way taken lacks, what was asked for and cannot be had, and what would help. */
void sn_record_print_limits(FILE *to, const struct sonde_record_stats *stats);

/* These return the exit code. */

/* It never ran. */
int sn_record_fail(FILE *to, const struct sonde_error *err);

/* It broke while it ran: its journal is left. */
int sn_record_tell_broken(const struct sn_record_run *run, const struct sonde_record_stats *stats,
                          const struct sonde_error *err);

/* It is done. `command_status` is as waitpid gives it, -1 for none. */
int sn_record_tell(const struct sn_record_run *run, const struct sonde_record_stats *stats,
                   int command_status);

#endif
