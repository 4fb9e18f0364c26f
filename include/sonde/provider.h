/** @file
 * Saying what to trace: named profiles, provider strings, CLR keywords, event ids; merged into one
 * list.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_PROVIDER_H
#define SONDE_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** One provider, as the runtime is asked for it. */
struct sonde_provider {
    const char *name;      /**< "Microsoft-Windows-DotNETRuntime"; case does not matter */
    uint64_t keywords;     /**< the groups of events wanted, one bit each */
    uint8_t level;         /**< 0 to 5 */
    const char *arguments; /**< "key=value;key=value", or NULL */
    const uint32_t *ids;   /**< event ids to keep, or to leave out; NULL for all */
    size_t id_count;       /**< how many */
    bool ids_are_excluded; /**< leave those out, keep all others */
};

/** A named choice of providers. */
struct sonde_trace_profile {
    const char *name;                       /**< "gc-verbose" */
    const char *summary;                    /**< one line */
    const struct sonde_provider *providers; /**< what it asks for */
    size_t provider_count;                  /**< how many */
    uint64_t rundown_keyword;               /**< what must be enumerated at the end for it */
};

/** The profiles there are; *ret_count of them. */
const struct sonde_trace_profile *sonde_trace_profiles(size_t *ret_count);

/** A list of providers in the making; opaque. */
struct sonde_provider_set;

/** An empty set. The caller frees it. */
int sonde_provider_set_new(struct sonde_provider_set **ret_set, struct sonde_error *err);

/** Frees a set; NULL is fine. */
void sonde_provider_set_free(struct sonde_provider_set *set);

/** Adds the providers of one or more profiles, "gc-verbose,http". What is there already is widened:
 * keywords are joined, the more verbose level wins. */
int sonde_provider_set_add_profiles(struct sonde_provider_set *set, const char *names,
                                    struct sonde_error *err);

/** Adds "Name[:Keywords[:Level[:key=value;key=value]]],...": keywords hexadecimal (all when left
 * out), level 0 to 5 or its name (verbose when left out). Values may be in double quotes. */
int sonde_provider_set_add(struct sonde_provider_set *set, const char *specification,
                           struct sonde_error *err);

/** Adds the runtime's own provider with keywords by name, "gc+exception", and a level ("", "4",
 * "verbose"). */
int sonde_provider_set_add_clr(struct sonde_provider_set *set, const char *keywords,
                               const char *level, struct sonde_error *err);

/** Keeps ("Provider=1,2,3") or leaves out those event ids of a provider that is in the set. */
int sonde_provider_set_filter(struct sonde_provider_set *set, const char *specification,
                              bool exclude, struct sonde_error *err);

/** The list, borrowed until the next change of the set. */
const struct sonde_provider *sonde_provider_set_get(const struct sonde_provider_set *set,
                                                    size_t *ret_count);

/** What the chosen profiles want enumerated at the end; 0: they do not care. */
uint64_t sonde_provider_set_rundown(const struct sonde_provider_set *set);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
