/** @file
 * Many consumers of events in one program, on any number of processes.
 *
 * Every consumer says what it wants of one process. What all of them want together is what that
 * runtime is asked for, in two sessions at most, and a third for a moment: while one is exchanged
 * for a wider or narrower one, or while names are asked for (sonde/names.h); who needs it meanwhile
 * waits. Each event goes to those who asked for its provider, keywords, level, id and name, and to
 * nobody else. Consumers come and go while events flow: the others miss nothing and get nothing
 * twice. A process that is silent or dead ends its own consumers and disturbs no others.
 *
 * Two things are a provider's or a process's and not a consumer's:
 * - Filters in arguments (FilterSpecs of Microsoft-Extensions-Logging, FilterAndPayloadSpecs of
 *   Microsoft-Diagnostics-DiagnosticSource) are put together, and every consumer of that provider
 *   gets what all of them let through; who wants less looks at the event, or uses sonde/filter.h.
 * - The interval of counters and the settings of metrics. A runtime makes an interval longer, and
 *   takes other settings, only when nobody listens: then, and when values had to be asked for anew,
 *   the session of counters and metrics ends before the next one begins, and all of its consumers
 *   miss the values of up to an interval. Events of the other session are not concerned.
 *
 * Driven by its owner, in one thread: wait until sonde_hub_fd is readable or sonde_hub_wait_ms has
 * passed, then turn.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_HUB_H
#define SONDE_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/event.h"
#include "sonde/provider.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Set `size` to sizeof; zero the rest for the defaults. Borrowed until sonde_hub_new returns. */
struct sonde_hub_options {
    size_t size;         /**< sizeof(struct sonde_hub_options) */
    uint32_t buffer_mb;  /**< of a session, in the target; 0: 16, but no more than 5 % of its memory
                            limit */
    uint64_t timeout_ns; /**< how long a target may be silent while it is asked; 0: 5 seconds */
    uint64_t linger_ns;  /**< how long what nobody wants any more goes on being asked for while
                            others stay; 0: 5 seconds */
};

/** Consumers and the sessions that feed them; opaque. */
struct sonde_hub;

/** An empty hub. The caller frees it. */
int sonde_hub_new(const struct sonde_hub_options *options, struct sonde_hub **ret_hub,
                  struct sonde_error *err);

/** Ends all sessions and frees the hub with its consumers; NULL is fine. Not from a callback. */
void sonde_hub_free(struct sonde_hub *hub);

/** A descriptor that is readable when there is something to do; for poll(2) and the like. */
int sonde_hub_fd(const struct sonde_hub *hub);

/** How long to wait at most, in milliseconds, as poll(2) wants it; -1: for ever. */
int sonde_hub_wait_ms(const struct sonde_hub *hub);

/** Does what there is to do, without waiting. Fails only when the hub itself cannot go on; what
 * happens to a target is its consumers' state. */
int sonde_hub_turn(struct sonde_hub *hub, struct sonde_error *err);

/** How a consumer fares. */
enum sonde_consumer_phase {
    SONDE_CONSUMER_OPENING = 0, /**< the runtime is being asked */
    SONDE_CONSUMER_LIVE,        /**< everything that it wants comes */
    SONDE_CONSUMER_ENDED        /**< nothing more will come: see `status` */
};

/** A consumer's numbers. */
struct sonde_consumer_state {
    int phase;                /**< enum sonde_consumer_phase */
    int status;               /**< why it ended: SONDE_END (its own wish), SONDE_E_GONE, ... */
    uint64_t delivered_count; /**< events that it took */
    uint64_t declined_count;  /**< events that it was offered and did not want */
    uint64_t lost_count;      /**< its events that the runtime, or we for want of memory, dropped */
    const char *error;        /**< of a status below zero; borrowed until the next turn; else "" */
};

/** A consumer; opaque. */
struct sonde_consumer;

/** Called when the phase of a consumer changes, from sonde_hub_turn only. */
typedef void sonde_consumer_fn(void *user, struct sonde_consumer *consumer);

/** What a consumer wants. Set `size` to sizeof; zero the rest. Borrowed until sonde_hub_add
 * returns. */
struct sonde_consumer_options {
    size_t size;                            /**< sizeof(struct sonde_consumer_options) */
    uint32_t pid;                           /**< of this process */
    const struct sonde_provider *providers; /**< what to listen to: at least one */
    size_t provider_count;                  /**< how many */
    const char *name;           /**< only events of this name, whatever the case; NULL: all */
    bool stacks;                /**< with stacks; .NET 8 sends them in any case */
    bool in_order;              /**< merged by time; otherwise as the runtime sends them */
    sonde_lost_fn *lost;        /**< told of losses; may be NULL */
    sonde_consumer_fn *changed; /**< told of its phases; may be NULL */
};

/** Adds a consumer, whose events begin as soon as the runtime sends them. Does not wait.
 *
 * `take` may return SONDE_OK (taken), SONDE_AGAIN (declined, this one only), SONDE_END (no more) or
 * a negative status, which ends this consumer. Arguments of providers are joined: the shortest
 * EventCounterIntervalSec wins, filters of DiagnosticSource and of logging are put together;
 * arguments that cannot be joined are SONDE_E_ARGUMENT.
 *
 * SONDE_E_NOT_FOUND: no such process, or no .NET; SONDE_E_DENIED; SONDE_E_LIMIT: 64 consumers a
 * process.
 *
 * A runtime that has just started is asked for counters a second and a half after its start, and
 * for metrics when the first of them have come and it is five seconds old: earlier it may lock
 * itself up (seen on .NET 9 and 10). A consumer who wants both is live when it gets both. */
int sonde_hub_add(struct sonde_hub *hub, const struct sonde_consumer_options *options,
                  sonde_event_fn *take, void *user, struct sonde_consumer **ret_consumer,
                  struct sonde_error *err);

/** Lets a consumer go and frees it; NULL is fine. Also from callbacks: it is called no more. */
void sonde_hub_remove(struct sonde_consumer *consumer);

/** How it fares. */
void sonde_consumer_state(const struct sonde_consumer *consumer,
                          struct sonde_consumer_state *ret_state);

/** What a process is asked for, and by whom else. Texts are borrowed until the next turn. */
struct sonde_hub_target {
    uint32_t pid;                /**< the process */
    uint32_t consumer_count;     /**< who listen to it */
    uint32_t session_count;      /**< sessions that are open now */
    uint32_t peak_session_count; /**< the most that were open or being opened at once */
    uint64_t opened_count;       /**< sessions that were opened since the start */
    uint64_t event_count;        /**< events that came, wanted or not */
    uint64_t lost_count;         /**< events that the runtime, or we for want of memory, dropped */
    uint64_t interval_ns;        /**< between values of counters, as asked for; 0: nobody asks */
    uint32_t owner_pid;          /**< another sonde decides that interval; 0: we do */
    const char *note;            /**< why something is not as asked for, in a line; "" */
};

/** One of the processes that are listened to; SONDE_E_NOT_FOUND. */
int sonde_hub_target(const struct sonde_hub *hub, uint32_t pid, struct sonde_hub_target *ret_target,
                     struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
