/* What a report shows, whatever it is written as: the sections there are, and what was asked for.
 */
#ifndef SN_REPORT_SHOW_H
#define SN_REPORT_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_file_facts;
struct sn_json;
struct sn_profile;
struct sn_report;
struct sn_stream;
struct sn_text_report;

#define SN_SHOW_VIEW_MAX 8u

/* One way to look at the trace. */
struct sn_show_view {
    const char *name;  /* "cpu" */
    const char *title; /* "CPU time" */
    const struct sn_profile *profile;
    int column;
    bool is_of_waits; /* by switches, whose stacks end in the kernel */
};

/* All borrowed. */
struct sn_report_show {
    const struct sn_report *report;
    const struct sn_file_facts *file;
    struct sn_show_view views[SN_SHOW_VIEW_MAX]; /* those that the trace has */
    size_t view_count;
    int primary;          /* of them, for lists of methods in text; -1: none */
    const char *sections; /* "gc,methods": those only; NULL: all but those that must be asked for */
    unsigned count;       /* rows of a list */
    const char *method;   /* callers and callees of this one, or NULL */
    bool with_tree;
    bool with_framework; /* text: inclusive lists hold the framework's methods too */
};

struct sn_report_section {
    const char *name;
    bool is_extra; /* only when asked for: by name, --method or --tree */
    bool is_plain; /* its heading is no answer, and not among those that stand first */
    /* A topic of its own needs the report only; the others see everything. One of each pair. */
    void (*text)(struct sn_text_report *page, const struct sn_report *report);
    void (*json)(struct sn_json *json, const struct sn_report *report);
    void (*show_text)(struct sn_text_report *page, const struct sn_report_show *show);
    void (*show_json)(struct sn_json *json, const struct sn_report_show *show);
};

/* In the order in which they are shown; ended by one without a name. */
extern const struct sn_report_section sn_report_sections[];

/* Whether a section is among those asked for. */
bool sn_report_shows(const struct sn_report_show *show, const struct sn_report_section *section);

/* The whole of it. */
void sn_report_text_write(struct sn_text_report *page, const struct sn_report_show *show);
void sn_report_json_write(struct sn_stream *stream, const struct sn_report_show *show);

/* --- sections about the file and its profiles (report_text.c, report_json.c) --- */

void sn_report_text_file(struct sn_text_report *page, const struct sn_report_show *show);
void sn_report_text_methods(struct sn_text_report *page, const struct sn_report_show *show);
void sn_report_text_neighbours(struct sn_text_report *page, const struct sn_report_show *show);
void sn_report_text_tree(struct sn_text_report *page, const struct sn_report_show *show);
void sn_report_text_threads(struct sn_text_report *page, const struct sn_report_show *show);
void sn_report_text_modules(struct sn_text_report *page, const struct sn_report_show *show);
void sn_report_text_namespaces(struct sn_text_report *page, const struct sn_report_show *show);
void sn_report_text_events(struct sn_text_report *page, const struct sn_report_show *show);
void sn_report_json_file(struct sn_json *json, const struct sn_report_show *show);
void sn_report_json_profiles(struct sn_json *json, const struct sn_report_show *show);
void sn_report_json_neighbours(struct sn_json *json, const struct sn_report_show *show);
void sn_report_json_tree(struct sn_json *json, const struct sn_report_show *show);
void sn_report_json_threads(struct sn_json *json, const struct sn_report_show *show);
void sn_report_json_events(struct sn_json *json, const struct sn_report_show *show);

#endif
