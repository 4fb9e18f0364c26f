/** @file
 * Events as lines: text for people, or JSON for programs.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_WRITER_H
#define SONDE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/event.h"
#include "sonde/names.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** What lines look like. */
enum sonde_writer_format {
    SONDE_WRITER_TEXT = 0, /**< time of day, thread, who, what, name=value; safe for a terminal */
    SONDE_WRITER_NDJSON    /**< one object a line, as sonde_convert_ndjson writes them */
};

/** How to write. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_writer_options {
    size_t size;        /**< sizeof(struct sonde_writer_options) */
    int format;         /**< enum sonde_writer_format */
    bool stacks;        /**< stacks too: a line a frame below the event, or its member "stack" */
    bool colour;        /**< text: as a terminal with colours shows it */
    uint32_t value_max; /**< text: longer values are cut at so many characters; 0: none */
};

/** Whose events are written. Borrowed during the call. */
struct sonde_writer_source {
    uint32_t pid;              /**< as we see it; 0: as the event says */
    const char *process;       /**< its name, shown in text; NULL: not shown, as there is but one */
    struct sonde_names *names; /**< for its stacks; NULL: addresses */
};

/** A writer; opaque. One thread. */
struct sonde_writer;

/** `options` may be NULL. The caller frees it. */
int sonde_writer_new(const struct sonde_writer_options *options, struct sonde_writer **ret_writer,
                     struct sonde_error *err);

/** Frees it; NULL is fine. */
void sonde_writer_free(struct sonde_writer *writer);

/** Appends an event. Call it from where the event came. SONDE_E_NOMEM: what it holds has become too
 * much; see sonde_writer_clear. */
int sonde_writer_event(struct sonde_writer *writer, const struct sonde_writer_source *source,
                       const struct sonde_event *event);

/** Appends that `count` events of a thread were lost. */
int sonde_writer_lost(struct sonde_writer *writer, const struct sonde_writer_source *source,
                      uint64_t thread_id, uint64_t count);

/** What was appended and not cleared, *ret_size bytes of UTF-8; borrowed until the next call. */
const char *sonde_writer_bytes(const struct sonde_writer *writer, size_t *ret_size);

/** Forgets what was appended, once it has gone where it should. */
void sonde_writer_clear(struct sonde_writer *writer);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
