/* A report as text that a person reads with pleasure: each section begins with the answer in one
 * sentence, then a small table. The parts of the page, and what they are made of. */
#ifndef SN_REPORT_TEXT_H
#define SN_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/style.h"

struct sn_frame;
struct sn_profile;
struct sn_report;
struct sn_stream;

/* The page that is being written. */
struct sn_text_report {
    struct sn_stream *out; /* borrows */
    bool has_colour;
    unsigned width;     /* columns of a line */
    unsigned count;     /* rows of a list at most */
    unsigned column;    /* where the present line is */
    bool only_headings; /* of sections: the answers without their tables */
    bool is_muted;      /* since the last heading, then */
};

/* --- parts of a line; text from outside is made safe, and cut or padded where a width is given ---
 */

/* A blank line, the title in bold, then the answer: "GC     paused 412 ms of 10.2 s (4.0 %)". Names
 * from outside may be among the arguments. */
void sn_text_heading(struct sn_text_report *page, const char *title, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Our own words; nothing from outside in the arguments. */
void sn_text_words(struct sn_text_report *page, enum sn_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Text from outside, all of it. */
void sn_text_name(struct sn_text_report *page, enum sn_style style, const char *text);

/* Padded to, or cut at `width` columns; the start is cut away instead when `keep_end`: the end of a
 * qualified name says more. */
void sn_text_cell(struct sn_text_report *page, enum sn_style style, const char *text,
                  unsigned width);
void sn_text_cell_end(struct sn_text_report *page, enum sn_style style, const char *text,
                      unsigned width);

/* Right-aligned. */
void sn_text_right(struct sn_text_report *page, enum sn_style style, const char *text,
                   unsigned width);

/* The same for numbers: 1,234 / 12.3 MB / 4.56 ms / 12.3 %. */
void sn_text_right_count(struct sn_text_report *page, uint64_t count, unsigned width);
void sn_text_right_bytes(struct sn_text_report *page, uint64_t bytes, unsigned width);
void sn_text_right_ns(struct sn_text_report *page, uint64_t ns, unsigned width);
void sn_text_right_share(struct sn_text_report *page, uint64_t part, uint64_t whole,
                         unsigned width);

/* A name to the end of the line, its beginning cut away if it is too long. */
void sn_text_rest(struct sn_text_report *page, enum sn_style style, const char *text);

/* A thread to the end of the line, aligned: number, name, and of which process. */
void sn_text_thread(struct sn_text_report *page, uint64_t thread_id, const char *name,
                    const char *process);

/* "%*sand 1,234 more processes (--count)" when not all of `count` are shown, at a column. */
void sn_text_more(struct sn_text_report *page, size_t count, unsigned column, const char *what);

/* A sentence to the end of the line, its end cut away. */
void sn_text_rest_start(struct sn_text_report *page, enum sn_style style, const char *text);

void sn_text_end(struct sn_text_report *page); /* of the line */

/* "4.56 ms": three digits, the unit that fits. `to` needs 32 bytes. */
const char *sn_text_ns(uint64_t ns, char to[32]);

/* "12.3 %"; "0 %" for a whole of nothing. */
const char *sn_text_share(uint64_t part, uint64_t whole, char to[16]);

/* --- sections; each does nothing when the trace has nothing of it --- */

void sn_report_text_gc(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_exceptions(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_allocations(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_contention(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_jit(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_pool(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_requests(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_tasks(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_processes(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_off_cpu(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_run_queue(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_syscalls(struct sn_text_report *page, const struct sn_report *report);
void sn_report_text_suspension(struct sn_text_report *page, const struct sn_report *report);

#endif
