/* What `sonde diff` prints for people. */
#ifndef SN_CLI_DIFF_TEXT_H
#define SN_CLI_DIFF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_buf;
struct sonde_change;
struct sonde_comparison;
struct sonde_profile;

struct sn_diff_condition {
    const char *text;
    int view;
    bool holds;
    bool is_matched;  /* some method of either trace is called so */
    bool is_absent;   /* a trace has no such events, which counts as none */
    bool is_doubtful; /* and nothing says that they were recorded */
    char *outcome;    /* owns; with numbers */
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

/* The answer in one sentence: "CPU time rose from 12.0 to 15.0 ms/s (+25.0 %), most in Shop.Tax".
 */
void sn_diff_sentence(const struct sn_diff *diff, struct sn_buf *to);

/* The sentence, the conditions, the two traces, then lists of methods. */
void sn_diff_print(const struct sn_diff *diff);

/* The unit of a comparison's numbers: "ns/s", "B/s" or "1/s". */
const char *sn_diff_unit(const struct sn_diff *diff);

/* "new", "gone", "grew", "shrank" or "same", by what a method spent itself, else with what it
 * called. */
const char *sn_diff_state(const struct sonde_change *change);

#endif
