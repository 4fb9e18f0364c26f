/* The producer contract: a source decodes bytes into events and hands them to its road. */
#ifndef SN_SOURCE_H
#define SN_SOURCE_H

#include <stdint.h>

struct sn_road;
struct sn_source;
struct sonde_error;

struct sn_source_ops {
    const char *name;

    /* Begin: put watches on the loop. From now on the source calls sn_road_* (road.h). */
    int (*start)(struct sn_source *source, struct sn_road *road, struct sonde_error *err);

    /* Asked to end: finish what is under way, then call sn_road_ended. Never waits. May be called
     * again, and after the end. */
    void (*stop)(struct sn_source *source);

    void (*free)(struct sn_source *source); /* accepts a source whose start failed */
};

/* The first member of every source. The road owns what is below `ops`. */
struct sn_source {
    const struct sn_source_ops *ops;
    struct sn_source *next;
    uint64_t complete_until_ns; /* nothing older will come from this source */
    int is_behind; /* what it said may still be held back: nothing is complete meanwhile */
    int has_ended;
    int status; /* how it ended */
};

#endif
