/* The summary of a trace for other readers of the same pass: its sink and how it is filled. */
#ifndef SN_FILE_SUMMARY_H
#define SN_FILE_SUMMARY_H

#include <stdint.h>

#include "sonde/file.h"

struct sn_nettrace_damage;
struct sn_sink;
struct sn_walk;

int sn_summary_new(struct sonde_summary **ret_summary, struct sonde_error *err);

static inline void sn_summary_free_auto(struct sonde_summary **slot)
{
    sonde_summary_free(*slot);
}

/* Counts every event; subscribe it to sn_everything. NULL without memory. */
struct sn_sink *sn_summary_sink(struct sonde_summary *summary);

/* An sn_damage_fn. */
void sn_summary_damage(void *user, const struct sn_nettrace_damage *damage);

/* Once the walk has ended, with what it returned. */
void sn_summary_end(struct sonde_summary *summary, const struct sn_walk *walk, int status);

/* First and last event of the program itself: the rundown, which comes after, is not counted. */
void sn_summary_program_time(const struct sonde_summary *summary, uint64_t *ret_first_ns,
                             uint64_t *ret_last_ns);

#endif
