/* The consumer contract: everything that eats events fills in this table. */
#ifndef SN_SINK_H
#define SN_SINK_H

struct sn_event;
struct sn_sink;
struct sonde_error;

struct sn_sink_ops {
    const char *name;

    /* One event; everything in it is borrowed. SONDE_OK: taken. SONDE_AGAIN: declined, this one
     * only. SONDE_END: taken, and the sink wants no more. Negative: the sink is broken and leaves;
     * its cause comes from `finish`. Must not wait for others: whoever talks to a network
     * has a thread with a bounded queue for that (net/sender). */
    int (*event)(struct sn_sink *sink, const struct sn_event *event);

    /* No more events will come: write out what is held. Called once; NULL when there is nothing to
     * do. */
    int (*finish)(struct sn_sink *sink, struct sonde_error *err);

    void (*free)(struct sn_sink *sink); /* called last, whether or not `finish` was */
};

/* The first member of every sink. */
struct sn_sink {
    const struct sn_sink_ops *ops;
};

#endif
