/* One record of an EventCounter, whichever of the four kinds, from its event. No state, no I/O. */
#ifndef SN_COUNTER_DECODE_H
#define SN_COUNTER_DECODE_H

#include <stdbool.h>
#include <stdint.h>

struct sn_buf;
struct sn_event;
struct sn_schema;

/* Texts are UTF-8, "" when not told; numbers that were not told are NAN. */
struct sn_counter_record {
    const char *name;
    const char *display_name;
    const char *unit;
    const char *metadata; /* "k:v,k:v" */
    bool is_sum;          /* incremented: `increment` in the interval; else a mean */
    bool is_one_value;    /* a mean of one measurement: what a polling counter always sends */
    double increment;
    double mean;
    double deviation;
    double min; /* NAN without measurements */
    double max;
    uint64_t count;       /* measurements in the interval */
    uint64_t interval_ns; /* since the record before, as the runtime measured it; 0: not told */
    uint64_t asked_ns;    /* the interval that the runtime was asked for; 0: not told */
};

/* Whether events of this kind are such records: by name, as their ids differ from run to run. */
bool sn_counter_is_record(const struct sn_schema *schema);

/* Texts of the record stay in `texts` until it is used again. SONDE_OK; SONDE_E_FORMAT when it has
 * no name, neither a mean nor an increment, or its payload does not hold what its schema says;
 * SONDE_E_NOMEM. */
int sn_counter_decode(const struct sn_event *event, struct sn_buf *texts,
                      struct sn_counter_record *ret_record);

#endif
