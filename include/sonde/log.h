/** @file
 * What programs log through ILogger, read from the events of Microsoft-Extensions-Logging: level,
 * category, message, arguments, scopes, exceptions.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_LOG_H
#define SONDE_LOG_H

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

/** How much a message matters, as ILogger counts. */
enum sonde_log_level {
    SONDE_LOG_TRACE = 0,   /**< "trace" */
    SONDE_LOG_DEBUG,       /**< "debug" */
    SONDE_LOG_INFORMATION, /**< "information" */
    SONDE_LOG_WARNING,     /**< "warning" */
    SONDE_LOG_ERROR,       /**< "error" */
    SONDE_LOG_CRITICAL,    /**< "critical" */
    SONDE_LOG_NONE         /**< no message has it: nothing is wanted */
};

/** The word for a level; "unknown" for what is none. */
const char *sonde_log_level_name(int level);

/* --- which --- */

/** Which messages are wanted; opaque. */
struct sonde_log_filter;

/** `level`: from which level on messages are wanted, by word or number; NULL: as the program itself
 * filters what it logs. The caller frees it. */
int sonde_log_filter_new(const char *level, struct sonde_log_filter **ret_filter,
                         struct sonde_error *err);

/** Frees it; NULL is fine. */
void sonde_log_filter_free(struct sonde_log_filter *filter);

/** Another level for some categories: "Shop.*=debug", "Microsoft=none". A category is the beginning
 * of a name, with or without a * behind it; of several that fit the longest decides. */
int sonde_log_filter_add(struct sonde_log_filter *filter, const char *text,
                         struct sonde_error *err);

/** Whether a message is wanted: runtimes send more when others ask for more. */
bool sonde_log_filter_holds(const struct sonde_log_filter *filter, const char *category, int level);

/** What to ask a runtime for, for these messages; *ret_count of them, borrowed until the filter
 * changes. NULL: no memory. */
const struct sonde_provider *sonde_log_filter_providers(struct sonde_log_filter *filter,
                                                        size_t *ret_count);

/* --- messages --- */

/** A named value of a message or a scope. */
struct sonde_log_value {
    const char *name; /**< never NULL */
    const char *text; /**< NULL: the program had null */
};

/** A scope that a message was logged in. */
struct sonde_log_scope {
    const char *category; /**< of the logger that began it */
    const char *text;     /**< its values put into its format; "" when the program told neither */
    const struct sonde_log_value *values; /**< what it holds */
    size_t value_count;                   /**< how many */
};

/** A message. Texts are UTF-8, never NULL, come from the program (escape them for wherever they
 * go), and are borrowed until the reader's next event. */
struct sonde_log_message {
    int level;                            /**< enum sonde_log_level */
    int32_t event_id;                     /**< the program's number for it; 0: none */
    const char *event_name;               /**< the program's name for it, or "" */
    const char *category;                 /**< of the logger */
    const char *text;                     /**< as people read it */
    const char *format;                   /**< what it was made of: "Order {Id} failed"; or "" */
    const char *exception_type;           /**< or "" */
    const char *exception_message;        /**< or "" */
    const char *exception_text;           /**< with its stack, in lines; or "" */
    const char *trace_id;                 /**< of the activity that it belongs to, or "" */
    const char *span_id;                  /**< likewise */
    uint64_t utc_ns;                      /**< since 1970; 0 when the stream does not tell */
    uint64_t thread_id;                   /**< who logged it */
    const struct sonde_log_value *values; /**< its arguments */
    size_t value_count;                   /**< how many */
    const struct sonde_log_scope *scopes; /**< the outermost first */
    size_t scope_count;                   /**< how many */
};

/** Reads the messages of one process; opaque. One thread. */
struct sonde_log_reader;

/** Knows of no scopes yet. The caller frees it. */
int sonde_log_reader_new(struct sonde_log_reader **ret_reader, struct sonde_error *err);

/** Frees it; NULL is fine. */
void sonde_log_reader_free(struct sonde_log_reader *reader);

/** Takes an event, in order.
 *
 * SONDE_OK: it is a message; SONDE_AGAIN: it is none, perhaps a scope's begin or end, which is
 * remembered for messages to come; SONDE_E_FORMAT: it should be one and cannot be read;
 * SONDE_E_NOMEM. */
int sonde_log_reader_take(struct sonde_log_reader *reader, struct sonde_event *event,
                          struct sonde_log_message *ret_message);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
