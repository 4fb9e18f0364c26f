/* The formats a profile can be written in: one file each, one line in the table. */
#ifndef SN_FORMATS_H
#define SN_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

struct sn_profile;
struct sn_stream;

/* How a profile is to be written. */
struct sn_format_options {
    int column;         /* of the profile: what counts */
    const char *title;  /* the file's or target's name; "" for none */
    bool full_names;    /* TraceEvent's names ("Module!Type.Method(args)"), not the readable ones */
    bool merge_threads; /* one tree, not one a thread */
    const char *view;   /* "CPU", "wall time", ...: for people */
    const char *note;   /* a caveat to be shown, or NULL */
    bool has_cpu;       /* the columns "cpu" and "wait" mean something */
};

struct sn_format {
    const char *name;      /* "speedscope" */
    const char *extension; /* "speedscope.json": what stands behind the last dot-separated base */
    const char *summary;   /* one line for --help */
    /* Appends everything; failures stay in the stream. */
    void (*write)(struct sn_stream *stream, const struct sn_profile *profile,
                  const struct sn_format_options *options);
};

/* Ended by one without a name. */
extern const struct sn_format sn_formats[];

const struct sn_format *sn_format_find(const char *name);

#endif
