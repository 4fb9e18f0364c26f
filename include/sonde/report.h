/** @file
 * Reports: what a saved trace says, by topic, as text, JSON or a page.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_REPORT_H
#define SONDE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/file.h"
#include "sonde/profile.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** How to read a report. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_report_options {
    size_t size;            /**< sizeof(struct sonde_report_options) */
    bool with_lines;        /**< look up source lines in portable PDBs where they are at hand */
    const char *cpu_record; /**< the CPU record; NULL: the trace's name with ".cpu" */
    const char *process;    /**< of a recording: a pid or a pattern of names; NULL: all, and the
                               busiest .NET process for what is about one */
    const char *names;      /**< a second trace of the same process whose method names are read
                               first: of one that still runs and has no rundown yet; NULL: none,
                               and one that is not there is none */
    uint64_t from_ns;       /**< only what happens from then on, since the beginning of the trace */
    uint64_t to_ns;         /**< and before then, likewise; 0: to the end */
};

/** Everything read from one trace; opaque. For one thread at a time, also to write it. */
struct sonde_report;

/** Reads a trace, twice over, in bounded memory. A damaged or cut one gives all that is intact. The
 * caller frees it. */
int sonde_report_read(const char *path, const struct sonde_report_options *options,
                      struct sonde_report **ret_report, struct sonde_error *err);

/** Frees a report; NULL is fine. */
void sonde_report_free(struct sonde_report *report);

/** What is in the file, event by event kind. Borrowed from the report. */
const struct sonde_summary *sonde_report_summary(const struct sonde_report *report);

/** How a report looks. */
enum sonde_report_format {
    SONDE_REPORT_TEXT = 0, /**< for people, on a terminal */
    SONDE_REPORT_JSON,     /**< for programs */
    SONDE_REPORT_HTML,     /**< one page for a browser */
};

/** What to show of it. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_report_show {
    size_t size;          /**< sizeof(struct sonde_report_show) */
    int format;           /**< enum sonde_report_format */
    const char *sections; /**< "cpu,gc,...": those only; NULL: all that the trace has */
    const char *view;    /**< of the method lists: "cpu", "alloc", ...; NULL: CPU, else wall time */
    uint32_t count;      /**< rows of each list; 0: 15 */
    const char *method;  /**< callers and callees of this one (a part of its name, or * patterns) */
    bool with_tree;      /**< the call tree as well */
    bool has_colour;     /**< text: ANSI styles */
    uint32_t width;      /**< text: columns; 0: 100 */
    bool with_framework; /**< text: inclusive lists hold the framework's methods too */
};

/** Writes it. `show` may be NULL. SONDE_E_ARGUMENT: there is no such section or view;
 * SONDE_E_NOT_FOUND: the trace has nothing for that view. */
int sonde_report_write(const struct sonde_report *report, const struct sonde_report_show *show,
                       sonde_write_fn *write, void *user, struct sonde_error *err);

/** The sections there are, by name, ended by NULL. */
const char *const *sonde_report_sections(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
