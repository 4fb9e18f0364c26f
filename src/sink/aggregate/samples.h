/* The runtime's samples, weighed by the kernel's CPU time: where threads ran, and where they
 * waited.
 *
 * The sampler takes a stack of every managed thread, running or not, and marks native compute and
 * Thread.Sleep alike. The CPU record says how long each thread ran between two looks. That time is
 * shared out over the thread's samples between the looks: first to those in managed code, then to
 * those in native code; those whose leaf is known to wait get what nobody else can have.
 * docs/adr/0012 says why. */
#ifndef SN_SAMPLES_H
#define SN_SAMPLES_H

#include "sink/aggregate/aggregates.h"

extern const struct sn_request sn_samples_request;

struct sn_sink *sn_samples_sink(const struct sn_aggregate_context *context,
                                struct sonde_error *err);

#endif
