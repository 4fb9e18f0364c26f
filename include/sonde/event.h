/** @file
 * Events with named and typed fields, from a saved trace or from a running process.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_EVENT_H
#define SONDE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/file.h"
#include "sonde/provider.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** One event; opaque. It and everything got from it is gone when the callback returns. */
struct sonde_event;

/** What every event has. Pointers are borrowed until the callback returns; texts come from the
 * target: escape them for wherever they go. */
struct sonde_event_info {
    const char *provider;    /**< who sends it: "Microsoft-Windows-DotNETRuntime" */
    const char *name;        /**< what it is called; "" when nobody knows */
    uint32_t id;             /**< its number within the provider */
    uint32_t version;        /**< of its declaration */
    uint8_t level;           /**< 1 (critical) to 5 (verbose); 0: always sent */
    uint8_t opcode;          /**< 1 begins something, 2 ends it; others are the provider's */
    uint32_t pid;            /**< as the target counts itself, in its own pid namespace */
    uint64_t keywords;       /**< the groups it belongs to, one bit each */
    uint64_t time_ns;        /**< CLOCK_MONOTONIC of the target's machine */
    uint64_t utc_ns;         /**< since 1970; 0 when the stream does not tell */
    uint64_t thread_id;      /**< the thread it is about */
    uint32_t stack_depth;    /**< addresses of its stack; 0: it has none */
    uint32_t payload_size;   /**< bytes of `payload` */
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
    SONDE_TYPE_NONE = 0, /**< no value */
    SONDE_TYPE_BOOL,     /**< number: 0 or 1 */
    SONDE_TYPE_UINT,     /**< number */
    SONDE_TYPE_INT,      /**< number, to be read as int64_t */
    SONDE_TYPE_REAL,     /**< real */
    SONDE_TYPE_TEXT,     /**< text, size: UTF-8 */
    SONDE_TYPE_GUID,     /**< bytes: 16, the first three parts little-endian */
    SONDE_TYPE_TIME,     /**< number, to be read as int64_t: nanoseconds since 1970, UTC */
    SONDE_TYPE_BYTES,    /**< bytes, size */
    SONDE_TYPE_OPEN,     /**< an object or array begins; number: how many elements an array has */
    SONDE_TYPE_CLOSE     /**< it ends */
};

/** One value. Pointers are borrowed until the callback returns. Members that its type does not name
 * are zero, texts "". */
struct sonde_value {
    const char *name;  /**< of the field; "" for elements of arrays */
    int type;          /**< enum sonde_type */
    uint32_t depth;    /**< 0: a field of the event itself */
    bool is_array;     /**< SONDE_TYPE_OPEN and SONDE_TYPE_CLOSE: of an array, not of an object */
    uint64_t number;   /**< whole numbers, booleans, times */
    double real;       /**< floating point */
    const char *text;  /**< valid UTF-8, ended by a zero; what was not text is U+FFFD */
    const void *bytes; /**< not aligned */
    size_t size;       /**< of text or bytes, without the zero; texts can hold zeros of their own */
};

/** The next value, in the order of the payload.
 *
 * SONDE_OK; SONDE_END when there are no more; SONDE_E_FORMAT when the payload does not hold what
 * its declaration says; SONDE_E_UNSUPPORTED when nobody knows its layout, see
 * sonde_event_info.payload; SONDE_E_NOMEM. After anything but SONDE_OK it begins anew. */
int sonde_event_next(struct sonde_event *event, struct sonde_value *ret_value);

/** Makes sonde_event_next begin anew. */
void sonde_event_rewind(struct sonde_event *event);

/** The field `name` of the event itself, whatever sonde_event_next has read. For an object or array
 * it is the SONDE_TYPE_OPEN. False, and *ret_value of SONDE_TYPE_NONE, when there is none. */
bool sonde_event_field(struct sonde_event *event, const char *name, struct sonde_value *ret_value);

/** Called with every event: SONDE_OK to go on, SONDE_END for no more, a negative status to fail. */
typedef int sonde_event_fn(void *user, struct sonde_event *event);

/** Called where events are missing: the runtime dropped `count` of a thread's. */
typedef void sonde_lost_fn(void *user, uint64_t thread_id, uint64_t count);

/** Called for each place of a file that could not be read. `damage` is borrowed. */
typedef void sonde_damage_fn(void *user, const struct sonde_damage *damage);

/* --- saved --- */

/** How to read events from a file. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_read_options {
    size_t size;              /**< sizeof(struct sonde_read_options) */
    const char *provider;     /**< only this one's events, whatever the case; NULL: all */
    const char *name;         /**< only events of this name; NULL: all */
    bool in_order;            /**< merged by time; otherwise as they lie in the file */
    sonde_lost_fn *lost;      /**< told of losses; may be NULL */
    sonde_damage_fn *damaged; /**< told of damage; may be NULL */
};

/** Reads a saved trace, in bounded memory, and hands every event to `take`. `options` may be NULL;
 * `user` goes to every callback.
 *
 * SONDE_OK, also when `take` wanted no more; SONDE_E_TRUNCATED: the file was cut, all that is in it
 * was delivered; the status of `take` when that failed; else why the file could not be read.
 * Damaged places are passed over. */
int sonde_file_read(const char *path, const struct sonde_read_options *options,
                    sonde_event_fn *take, void *user, struct sonde_error *err);

/* --- live --- */

/** What to ask of a running process. Set `size` to sizeof, zero the rest for the defaults.
 * Everything is borrowed until sonde_subscribe returns. */
struct sonde_subscribe_options {
    size_t size;                            /**< sizeof(struct sonde_subscribe_options) */
    const struct sonde_provider *providers; /**< what to listen to: at least one */
    size_t provider_count;                  /**< how many */
    uint32_t buffer_mb; /**< in the target; 0: 16, but no more than 5 % of its memory limit */
    bool no_stacks;     /**< cheaper for the target; .NET 9 and later */
    bool in_order; /**< merged by time; otherwise as the runtime sends them, thread by thread */
    sonde_lost_fn *lost; /**< told of losses; may be NULL */
};

/** A running session whose events come to a callback; opaque.
 *
 * It is driven by its owner, in one thread: wait until sonde_subscription_fd is readable or
 * sonde_subscription_wait_ms has passed, then turn; until a turn says SONDE_END. An owner who does
 * not turn makes the target lose events, nothing worse. */
struct sonde_subscription;

/** Opens a session on a process and waits until it is open. `take` and `lost` get `user` and are
 * called from sonde_subscription_turn only.
 *
 * SONDE_E_NOT_FOUND: no such process, or no .NET; SONDE_E_DENIED; SONDE_E_TIMEOUT: it does not
 * answer; SONDE_E_REFUSED: it opens no further session; SONDE_E_ARGUMENT. */
int sonde_subscribe(uint32_t pid, const struct sonde_subscribe_options *options,
                    sonde_event_fn *take, void *user, struct sonde_subscription **ret_subscription,
                    struct sonde_error *err);

/** Ends the session and frees it; NULL is fine. One that has not ended is closed without reading
 * the rest, which waits for the target half a second at most. Not from its own callbacks. */
void sonde_subscription_free(struct sonde_subscription *subscription);

/** A descriptor that is readable when there is something to do; for poll(2) and the like. */
int sonde_subscription_fd(const struct sonde_subscription *subscription);

/** How long to wait at most, in milliseconds, as poll(2) wants it; -1: for ever. */
int sonde_subscription_wait_ms(const struct sonde_subscription *subscription);

/** Does what there is to do, without waiting.
 *
 * SONDE_OK; SONDE_END when the session is over and every event was handed out; SONDE_E_GONE when
 * the target went away, all that had come was handed out; the status of `take` when that failed;
 * else why it failed. What is not SONDE_OK is final: the next turn says the same. */
int sonde_subscription_turn(struct sonde_subscription *subscription, struct sonde_error *err);

/** Asks the session to end; keep turning until SONDE_END, what the runtime still holds is handed
 * out. Also from `take`, whose SONDE_END asks the same but wants no more events. */
void sonde_subscription_stop(struct sonde_subscription *subscription);

/** Events that were lost so far: the runtime dropped them, its buffer was full. */
uint64_t sonde_subscription_lost(const struct sonde_subscription *subscription);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
