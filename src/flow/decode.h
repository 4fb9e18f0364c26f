/* Station 2 for NetTrace streams: bytes of a source in, events on its road out. One thread. */
#ifndef SN_DECODE_H
#define SN_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/nettrace_reader.h"
#include "model/trace_info.h"

struct sn_decoder;
struct sn_event;
struct sn_road;
struct sn_schema;
struct sn_source;
struct sonde_error;

/* Told of every place that could not be read; borrowed. */
typedef void sn_damage_fn(void *user, const struct sn_nettrace_damage *damage);

/* What happens to events between their stream and the road, for sources that go while their events
 * live on. */
struct sn_decode_filter {
    /* The schema that stands for `schema` from now on and outlives the source (already told to the
     * road); NULL: its events are left out. */
    const struct sn_schema *(*schema)(void *user, const struct sn_schema *schema);
    /* May change the event: whose it is. False: it does not go on. Also called for what was lost,
     * which has no schema and whose count is `lost`. */
    bool (*event)(void *user, struct sn_event *event, uint64_t lost);
    bool skips_unwanted; /* what nobody wants is not shown to `event` */
    void *user;
};

/* `damaged` may be NULL. */
int sn_decoder_new(struct sn_road *road, struct sn_source *source, sn_damage_fn *damaged,
                   void *user, struct sn_decoder **ret_decoder, struct sonde_error *err);
void sn_decoder_free(struct sn_decoder *decoder);

/* Before the first feed. Copies `filter`. */
void sn_decoder_set_filter(struct sn_decoder *decoder, const struct sn_decode_filter *filter);

/* As sn_nettrace_reader_feed and _finish. */
int sn_decoder_feed(struct sn_decoder *decoder, const void *bytes, size_t size,
                    struct sonde_error *err);
int sn_decoder_finish(struct sn_decoder *decoder, struct sonde_error *err);

/* What the stream said about itself; NULL before its first bytes. */
const struct sn_trace_info *sn_decoder_info(const struct sn_decoder *decoder);
struct sn_nettrace_counters sn_decoder_counters(const struct sn_decoder *decoder);

#endif
