/* One pass over a saved trace: a road with the file as its source and whatever sinks are put on it.
 * Everything that reads a file goes this way. */
#ifndef SN_WALK_H
#define SN_WALK_H

#include "flow/decode.h"
#include "flow/road.h"
#include "source/file/input.h"

struct sn_loop;

struct sn_walk {
    struct sn_loop *loop;
    struct sn_road *road;
    struct sn_source *source; /* the road's */
    const char *path;         /* borrows */
};

/* Prepares a road without its source. On failure there is nothing to end. */
int sn_walk_init(struct sn_walk *walk, const char *path, struct sonde_error *err);
void sn_walk_done(struct sn_walk *walk);

static inline void sn_walk_done_auto(struct sn_walk *walk)
{
    sn_walk_done(walk);
}

/* Puts a sink on the road; takes it, also on failure, and also when it is NULL (no memory). */
int sn_walk_subscribe(struct sn_walk *walk, const struct sn_request *request, struct sn_sink *sink,
                      bool needs_order, struct sonde_error *err);

/* Reads the file to its end, then finishes the sinks. SONDE_OK; SONDE_E_TRUNCATED: the file was
 * cut, all that is in it was delivered; else why it failed. */
int sn_walk_run(struct sn_walk *walk, sn_damage_fn *damaged, void *user, struct sonde_error *err);

/* What the stream says about itself; NULL before its first bytes. */
const struct sn_trace_info *sn_walk_info(const struct sn_walk *walk);
struct sn_nettrace_counters sn_walk_counters(const struct sn_walk *walk);
/* Where it came from, once it ran. */
enum sn_input_kind sn_walk_kind(const struct sn_walk *walk);

#endif
