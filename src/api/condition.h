/* Conditions on what changed between two profiles: "cpu(Shop.*) > +10%". The grammar stands in
 * sonde-diff(1). No state. */
#ifndef SN_CONDITION_H
#define SN_CONDITION_H

#include <stdbool.h>
#include <stddef.h>

struct sonde_error;

enum sn_condition_unit {
    SN_CONDITION_PERCENT, /* of what it was before; without a sign, of all there is after */
    SN_CONDITION_POINTS,  /* of the share in all there is */
    SN_CONDITION_NS,      /* per second, as the next two */
    SN_CONDITION_BYTES,
    SN_CONDITION_COUNT,
};

enum sn_condition_comparison {
    SN_CONDITION_MORE,
    SN_CONDITION_AT_LEAST,
    SN_CONDITION_LESS,
    SN_CONDITION_AT_MOST,
};

struct sn_condition {
    int view;            /* enum sonde_view; -1: whichever is compared */
    bool is_self;        /* what the methods spent themselves, not with what they called */
    const char *pattern; /* borrowed from the text */
    size_t pattern_size;
    enum sn_condition_comparison comparison;
    bool is_change; /* the value had a sign: what changed, not what is */
    double value;   /* in percent, points, nanoseconds, bytes or times */
    enum sn_condition_unit unit;
};

/* SONDE_E_ARGUMENT with the offset of what cannot be read. */
int sn_condition_parse(const char *text, struct sn_condition *ret_condition,
                       struct sonde_error *err);

/* Whether a name is what the pattern says; '*' stands for anything, also nothing. */
bool sn_condition_matches(const struct sn_condition *condition, const char *name);

/* Whether `number` stands to the condition's value as it says. */
bool sn_condition_holds(const struct sn_condition *condition, double number);

#endif
