/* Arguments of providers, "key=value;key=value" with values in double quotes where they hold
 * semicolons: read, changed, and those of two consumers joined into what serves both. */
#ifndef SN_HUB_ARGUMENTS_H
#define SN_HUB_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct sn_buf;
struct sonde_error;

#define SN_METRICS_PROVIDER "System.Diagnostics.Metrics"
#define SN_LOGGING_PROVIDER "Microsoft-Extensions-Logging"
#define SN_INTERVAL_KEY     "EventCounterIntervalSec"
#define SN_COUNTERS_EVENT   "EventCounters" /* what the values of any source are called */

/* The most that the arguments of one provider may take: a request has 64 KB in all. */
#define SN_ARGUMENTS_LIMIT 16384u

/* One of them; borrows from the text. */
struct sn_argument {
    const char *key;
    size_t key_size;
    const char *value; /* as it stands, quotes included */
    size_t value_size;
};

/* The next one at *text, which moves behind it. False: there are no more. */
bool sn_argument_next(const char **text, struct sn_argument *ret_argument);

/* The one called `key`, whatever the case. `text` may be NULL. */
bool sn_argument_find(const char *text, const char *key, struct sn_argument *ret_argument);

/* Its value as a finite number above zero; 0 when there is none or it is not one. */
double sn_argument_number(const char *text, const char *key);

/* Appends all of `text` but the ones called `key`. */
void sn_arguments_without(struct sn_buf *to, const char *text, const char *key);

/* Appends "key=value" behind what is there. */
void sn_argument_put(struct sn_buf *to, const char *key, const char *value);

/* Appends `text` (may be NULL) as it is always written. SONDE_E_ARGUMENT: it is not one of these,
 * or has a key twice. */
int sn_arguments_normal(const char *provider, const char *text, struct sn_buf *to,
                        struct sonde_error *err);

/* Appends what serves both sides: the shortest interval, the largest limits, filters put together;
 * both are normal. What is joined stays as it is when either is joined to it once more.
 * SONDE_E_ARGUMENT: there is no such thing, and err says where they differ. Either may be NULL. */
int sn_arguments_join(const char *provider, const char *left, const char *right, struct sn_buf *to,
                      struct sonde_error *err);

#endif
