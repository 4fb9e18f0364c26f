/* What `sonde diff` prints for people. */
#ifndef SN_CLI_DIFF_TEXT_H
#define SN_CLI_DIFF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_change;
struct sonde_comparison;
struct sonde_profile;

struct sn_diff_condition {
    const char *text;
    int view;
    bool holds;
    char *outcome; /* owns; with numbers */
};

/* All borrowed. */
struct sn_diff {
    int view;
    const char *paths[2];
    const struct sonde_profile *profiles[2]; /* NULL: has nothing for this view */
    const struct sonde_comparison *comparison;
    const struct sn_diff_condition *conditions;
    size_t condition_count;
    uint64_t most; /* methods of each list */
};

void sn_diff_print(const struct sn_diff *diff);

/* The unit of a comparison's numbers: "ns/s", "B/s" or "1/s". */
const char *sn_diff_unit(const struct sn_diff *diff);

/* "new", "gone", "grew", "shrank" or "same", by what a method spent itself, else with what it
 * called. */
const char *sn_diff_state(const struct sonde_change *change);

#endif
