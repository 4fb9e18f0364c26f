/* Conditions on events: "Duration > 50 && @name == GCStart". The language stands in
 * docs/formats/filter.md.
 *
 * A condition becomes a list of comparisons and a program in postfix order over what they say. An
 * event's payload is walked at most once, without allocation, and not at all when the event's own
 * properties decide. */
#ifndef SN_EVENT_FILTER_H
#define SN_EVENT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/filter_value.h"

struct sn_event;
struct sn_event_filter;
struct sonde_error;

#define SN_FILTER_TEXT_MAX       4096u
#define SN_FILTER_COMPARISON_MAX 64u
#define SN_FILTER_STEP_MAX       256u

/* SONDE_E_ARGUMENT with the offset of what cannot be read; SONDE_E_NOMEM. */
int sn_event_filter_new(const char *text, struct sn_event_filter **ret_filter,
                        struct sonde_error *err);
void sn_event_filter_free(struct sn_event_filter *filter);

bool sn_event_filter_holds(const struct sn_event_filter *filter, const struct sn_event *event);

/* --- between the reader of conditions and their evaluation --- */

/* What a comparison looks at: the payload, or what every event has. */
enum sn_filter_subject {
    SN_FILTER_PAYLOAD,
    SN_FILTER_PROVIDER,
    SN_FILTER_NAME,
    SN_FILTER_LEVEL,
    SN_FILTER_ID,
    SN_FILTER_VERSION,
    SN_FILTER_OPCODE,
    SN_FILTER_KEYWORDS,
    SN_FILTER_THREAD,
    SN_FILTER_PID,
    SN_FILTER_ACTIVITY,
    SN_FILTER_RELATED,
    SN_FILTER_SUBJECT_COUNT
};

struct sn_filter_comparison {
    uint8_t subject;  /* enum sn_filter_subject */
    uint8_t op;       /* enum sn_filter_op */
    const char *path; /* of the payload's field: "a.b"; in the arena */
    uint16_t path_size;
    struct sn_filter_value value;
};

/* A step of the program: a comparison's index, or one of these. */
enum { SN_FILTER_AND = 0x80, SN_FILTER_OR, SN_FILTER_NOT };

struct sn_event_filter {
    struct sn_filter_comparison comparisons[SN_FILTER_COMPARISON_MAX];
    uint8_t comparison_count;
    uint16_t step_count;
    uint8_t steps[SN_FILTER_STEP_MAX];
    char *texts; /* owns: paths and values, unescaped, in both encodings */
};

/* Reads `text` into an empty filter. */
int sn_filter_parse(struct sn_event_filter *filter, const char *text, struct sonde_error *err);

#endif
