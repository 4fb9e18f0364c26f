/* The road: sources on one clock, then order, track and dispatch, then sinks. One thread walks it.
 *
 *   source -> sn_road_event -> [unordered sinks]
 *                           -> order -> [ordered sinks]
 * Control goes left (subscribe, stop), events go right, nobody calls backwards. */
#ifndef SN_ROAD_H
#define SN_ROAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/dispatch.h"
#include "flow/track.h"

struct sn_event;
struct sn_loop;
struct sn_road;
struct sn_schema;
struct sn_sink;
struct sn_source;
struct sonde_error;

struct sn_road_options {
    size_t window_bytes; /* the ordering window; 0: 8 MiB */
};

int sn_road_new(struct sn_loop *loop, const struct sn_road_options *options,
                struct sn_road **ret_road, struct sonde_error *err);

/* Frees the sinks, then the sources. */
void sn_road_free(struct sn_road *road);

static inline void sn_road_free_auto(struct sn_road **slot)
{
    sn_road_free(*slot);
}

struct sn_loop *sn_road_loop(const struct sn_road *road);

/* Takes the source, also on failure, and starts it. */
int sn_road_add_source(struct sn_road *road, struct sn_source *source, struct sonde_error *err);

/* Frees a source that has ended. Its schemas must not have been its own: events of them may still
 * wait for their turn. */
void sn_road_remove_source(struct sn_road *road, struct sn_source *source);

/* Takes the sink, also on failure. `request` borrows. Returns the subscription's number (0 to 63)
 * or a negative status. May be called while events flow; it sees what comes from now on. */
int sn_road_subscribe(struct sn_road *road, const struct sn_request *request, struct sn_sink *sink,
                      bool needs_order, struct sonde_error *err);

/* Lets a sink go: it is finished and freed, its number is free again. Not from inside a sink. */
int sn_road_unsubscribe(struct sn_road *road, int number, struct sonde_error *err);

/* The same at once: what is held for it never reaches it, and is not finished either. */
void sn_road_drop(struct sn_road *road, int number);

/* NULL when nobody holds that number. */
const struct sn_subscription *sn_road_subscription(const struct sn_road *road, int number);

/* Asks every source to end. */
void sn_road_stop(struct sn_road *road);

/* All sources have ended and every event has been handed to its sinks. */
bool sn_road_is_done(const struct sn_road *road);

/* Whether any kind of event of this provider was declared. */
bool sn_road_has_provider(const struct sn_road *road, const char *provider);

const struct sn_tracker *sn_road_tracker(const struct sn_road *road);
uint64_t sn_road_event_count(const struct sn_road *road);
uint64_t sn_road_late_count(const struct sn_road *road);

/* Hands out, in order, what no source can precede any more. Streams say so by sequence points,
 * which are rare while little happens: whoever shows events live calls this now and then. */
void sn_road_settle(struct sn_road *road);

/* Finishes every sink that is still there. The first failure is returned. */
int sn_road_finish(struct sn_road *road, struct sonde_error *err);

/* --- for sources --- */

/* A schema exists from now on and stays where it is as long as the source. */
int sn_road_schema(struct sn_road *road, struct sn_schema *schema, struct sonde_error *err);

void sn_road_event(struct sn_road *road, struct sn_source *source, const struct sn_event *event);

/* `count` events are missing; becomes an event (sn_lost_schema) that every subscription gets. */
void sn_road_lost(struct sn_road *road, struct sn_source *source, const struct sn_event *where,
                  uint64_t count);

/* Nothing older than `time_ns` will come from this source. */
void sn_road_complete(struct sn_road *road, struct sn_source *source, uint64_t time_ns);

/* The source has nothing more to say; `status` tells how it ended. */
void sn_road_ended(struct sn_road *road, struct sn_source *source, int status);

/* --- losses as events --- */

/* Provider "Sonde", event "Lost": u64 Count. The thread is the event's own. */
extern const struct sn_schema sn_lost_schema;

#endif
