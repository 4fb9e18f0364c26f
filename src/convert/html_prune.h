/* Profiles too large for a page: their smallest stacks become one frame below their caller. */
#ifndef SN_HTML_PRUNE_H
#define SN_HTML_PRUNE_H

#include <stdbool.h>

struct sn_profile;
struct sonde_error;

bool sn_html_is_too_large(const struct sn_profile *profile);

/* A smaller profile with the same sums for every thread, without timeline. The caller frees it. */
int sn_html_prune(const struct sn_profile *profile, struct sn_profile **ret_pruned,
                  struct sonde_error *err);

#endif
