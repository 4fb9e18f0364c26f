/* Finding the processes of a live view: by number, by name, all, or a program that is started. Part
 * of cli/live_run. */
#ifndef SN_CLI_LIVE_FIND_H
#define SN_CLI_LIVE_FIND_H

#include <stdbool.h>
#include <stdint.h>

struct sn_live_run;
struct sonde_error;

/* Those that are there, or starts the program. SONDE_E_NOT_FOUND: there are none. */
int sn_live_find(struct sn_live_run *run, struct sonde_error *err);

/* Those that have come since, every sn_live_find_pause_ns. */
void sn_live_find_again(struct sn_live_run *run);
uint64_t sn_live_find_pause_ns(const struct sn_live_run *run);

/* No more will come. */
bool sn_live_find_is_done(const struct sn_live_run *run);

#endif
