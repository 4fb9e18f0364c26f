/* Events with named and typed fields, from a saved trace or from a running process. */
#ifndef SONDE_EVENT_H
#define SONDE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/provider.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** One event; opaque, and gone when the callback that got it returns. */
struct sonde_event;

/** What every event has. Pointers are borrowed until the callback returns. */
struct sonde_event_info {
    const char *provider;
    const char *name; /**< "" when nobody knows it */
    uint32_t id;
    uint32_t version;
    uint8_t level;
    uint8_t opcode;
    uint32_t pid;
    uint64_t keywords;
    uint64_t time_ns;     /**< CLOCK_MONOTONIC of the target's machine */
    uint64_t utc_ns;      /**< since 1970; 0 when the stream does not tell */
    uint64_t thread_id;   /**< the thread it is about */
    uint32_t stack_depth; /**< addresses of its stack */
    uint32_t payload_size;
    const void *payload;     /**< as the runtime wrote it */
    const uint8_t *activity; /**< 16 bytes, or NULL */
    const uint8_t *related;  /**< 16 bytes, or NULL */
};

/** Fills in what every event has. */
void sonde_event_info(const struct sonde_event *event, struct sonde_event_info *ret_info);

/** Address `index` of the stack, the leaf first; 0 past the end. */
uint64_t sonde_event_stack(const struct sonde_event *event, size_t index);

/** Types that a field's value can have. */
enum sonde_type {
    SONDE_TYPE_NONE = 0,
    SONDE_TYPE_BOOL,  /**< number: 0 or 1 */
    SONDE_TYPE_UINT,  /**< number */
    SONDE_TYPE_INT,   /**< number, to be read as int64_t */
    SONDE_TYPE_REAL,  /**< real */
    SONDE_TYPE_TEXT,  /**< text: UTF-8, ended by a zero */
    SONDE_TYPE_GUID,  /**< bytes: 16 */
    SONDE_TYPE_TIME,  /**< number: nanoseconds since 1970, UTC */
    SONDE_TYPE_BYTES, /**< bytes, size */
    SONDE_TYPE_OPEN,  /**< an object or array begins; number: elements, when it is an array */
    SONDE_TYPE_CLOSE  /**< it ends */
};

/** One value. Pointers are borrowed until the next call on the same event. */
struct sonde_value {
    const char *name; /**< of the field; "" for elements of arrays */
    int type;         /**< enum sonde_type */
    uint32_t depth;   /**< 0: a field of the event itself */
    bool is_array;    /**< SONDE_TYPE_OPEN: of an array */
    uint64_t number;
    double real;
    const char *text;
    const void *bytes;
    size_t size; /**< of text or bytes */
};

/** The next value, in the order of the payload; starts over after the end. SONDE_OK; SONDE_END when
 * there are no more; SONDE_E_FORMAT when the payload does not hold what its declaration says;
 * SONDE_E_UNSUPPORTED when its layout is not known. */
int sonde_event_next(const struct sonde_event *event, struct sonde_value *ret_value);

/** The field `name` of the event itself; false when it has none. */
bool sonde_event_field(const struct sonde_event *event, const char *name,
                       struct sonde_value *ret_value);

/** Called with every event: SONDE_OK to go on, SONDE_END for no more, a negative status to fail. */
typedef int sonde_event_fn(void *user, const struct sonde_event *event);

/** Called where events are missing: the runtime dropped `count` of a thread's. */
typedef void sonde_lost_fn(void *user, uint64_t thread_id, uint64_t count);

/** How to read events from a file. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_read_options {
    size_t size;          /**< sizeof(struct sonde_read_options) */
    const char *provider; /**< only this one's events; NULL: all */
    const char *name;     /**< only events of this name; NULL: all */
    bool in_order;        /**< merged by time; otherwise as they lie in the file */
    sonde_lost_fn *lost;  /**< told of losses; may be NULL */
};

/** Reads a saved trace and hands every event to `take`. SONDE_E_TRUNCATED: the file was cut; all
 * that is in it was delivered. */
int sonde_file_read(const char *path, const struct sonde_read_options *options,
                    sonde_event_fn *take, void *user, struct sonde_error *err);

/* --- live --- */

/** What to ask of a running process. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_subscribe_options {
    size_t size; /**< sizeof(struct sonde_subscribe_options) */
    const struct sonde_provider *providers;
    size_t provider_count;
    uint32_t buffer_mb; /**< in the target; 0: 16 */
    bool no_stacks;     /**< cheaper for the target; .NET 9 and later */
    bool in_order;      /**< merged by time, about 200 ms late */
    sonde_lost_fn *lost;
};

/** A running session whose events come to a callback; opaque. Driven by its owner, one thread: wait
 * until sonde_subscription_fd is readable or sonde_subscription_wait_ms has passed, then turn. */
struct sonde_subscription;

/** Opens a session on a process. `take` is called from sonde_subscription_turn only. */
int sonde_subscribe(uint32_t pid, const struct sonde_subscribe_options *options,
                    sonde_event_fn *take, void *user, struct sonde_subscription **ret_subscription,
                    struct sonde_error *err);

/** Ends the session and frees it; NULL is fine. */
void sonde_subscription_free(struct sonde_subscription *subscription);

/** A descriptor that is readable when there is something to do. */
int sonde_subscription_fd(const struct sonde_subscription *subscription);

/** How long to wait at most, in milliseconds; -1: for ever. */
int sonde_subscription_wait_ms(const struct sonde_subscription *subscription);

/** Does what there is to do. SONDE_OK; SONDE_END when the session is over; else why it failed. */
int sonde_subscription_turn(struct sonde_subscription *subscription, struct sonde_error *err);

/** Asks the session to end; keep turning until SONDE_END. */
void sonde_subscription_stop(struct sonde_subscription *subscription);

/** Events that were lost so far. */
uint64_t sonde_subscription_lost(const struct sonde_subscription *subscription);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
