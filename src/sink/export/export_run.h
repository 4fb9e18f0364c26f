/* A configuration at work: watches, exports, serves. Driven by its owner in one thread, as a hub
 * is: wait until its descriptor is readable or its time has passed, then turn. */
#ifndef SN_EXPORT_RUN_H
#define SN_EXPORT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/sender.h"
#include "sink/export/settings.h"

struct sn_export_run;
struct sonde_hub;

/* One receiver. Texts are borrowed until the next turn. */
struct sn_export_receiver {
    const struct sn_settings *settings; /* its section */
    const char *place;                  /* "tcp://...", "http://127.0.0.1:9464/metrics" */
    bool has_sender;                    /* otherwise it is asked, and `state` is zero */
    struct sn_sender_state state;
    uint64_t number_count; /* that it was sent or shown */
    uint64_t asked_count;  /* how often it was asked, and when last: 0, never */
    uint64_t asked_utc_ns;
};

struct sn_export_tally {
    uint64_t up_ns;         /* since the start */
    uint64_t point_count;   /* that came */
    uint64_t runtime_count; /* of those the ones that no kernel told */
    uint64_t event_count;   /* that rules and probes took */
    uint64_t number_count;  /* that exporters made of them */
    uint64_t dropped_count; /* numbers that could not be sent */
    uint64_t queued_bytes;  /* that wait for receivers */
    uint64_t unused_count;  /* events that rules could make no number of */
    uint64_t retry_count;   /* attempts to send that failed */
    uint64_t lost_count;    /* events that runtimes dropped */
    size_t process_count;   /* watched now */
    size_t rule_count;
    double cpu_seconds; /* of this process */
    uint64_t rss_bytes;
    const char *note; /* what is not as asked for; "" */
};

/* Opens every exporter and begins to watch. Borrows the configuration, which has been checked. A
 * given process that is not there is an error; not so for a run that `goes_on` after another, as
 * long as there is anything to watch. */
int sn_export_run_new(struct sn_configuration *configuration, bool goes_on,
                      struct sn_export_run **ret_run, struct sonde_error *err);

/* The same as one of several who use a hub, which its owner turns: before this, whenever it is time
 * for either. The hub is there until after the run. */
int sn_export_run_join(struct sn_configuration *configuration, struct sonde_hub *hub,
                       struct sn_export_run **ret_run, struct sonde_error *err);

/* The end of watching: what was collected goes out; waits for receivers, two seconds at most. Then
 * only tallies and free. */
void sn_export_run_finish(struct sn_export_run *run);

/* Ends; NULL is fine. */
void sn_export_run_free(struct sn_export_run *run);

static inline void sn_export_run_free_auto(struct sn_export_run **slot)
{
    sn_export_run_free(*slot);
}

int sn_export_run_fd(const struct sn_export_run *run);
int sn_export_run_wait_ms(const struct sn_export_run *run);
int sn_export_run_turn(struct sn_export_run *run, struct sonde_error *err);

/* Only given processes are watched, and all of them have ended. */
bool sn_export_run_is_over(const struct sn_export_run *run);

size_t sn_export_run_receiver_count(const struct sn_export_run *run);
void sn_export_run_receiver(const struct sn_export_run *run, size_t index,
                            struct sn_export_receiver *ret_receiver);
void sn_export_run_tally(const struct sn_export_run *run, struct sn_export_tally *ret_tally);

#endif
