/* The sinks of single topics, for the table in aggregates.c. */
#ifndef SN_TOPICS_H
#define SN_TOPICS_H

struct sn_aggregate_context;
struct sn_request;
struct sn_sink;
struct sonde_error;

extern const struct sn_request sn_gc_request;
struct sn_sink *sn_gc_sink(const struct sn_aggregate_context *context, struct sonde_error *err);

extern const struct sn_request sn_exceptions_request;
struct sn_sink *sn_exceptions_sink(const struct sn_aggregate_context *context,
                                   struct sonde_error *err);

extern const struct sn_request sn_allocations_request;
struct sn_sink *sn_allocations_sink(const struct sn_aggregate_context *context,
                                    struct sonde_error *err);

extern const struct sn_request sn_contention_request;
struct sn_sink *sn_contention_sink(const struct sn_aggregate_context *context,
                                   struct sonde_error *err);

#endif
