/* A call tree whose nodes keep their numbers from one version to the next, so that who has an
 * earlier version is sent only what changed. Immutable once made, with counted references, from any
 * thread. */
#ifndef SN_FLAME_H
#define SN_FLAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "sonde/error.h"
#include "sonde/profile.h"

struct sn_flame;

/* The next version: `before` (NULL: none) with the numbers of `profile`. Nodes that are no more
 * stay with zeros, until there are too many: then everything is numbered anew, and who asks for
 * changes gets all of it. Of a tree with more than `nodes_max` nodes (two or more) the smallest are
 * left out. */
int sn_flame_new(const struct sn_flame *before, const struct sonde_profile *profile,
                 size_t nodes_max, struct sn_flame **ret_flame, struct sonde_error *err);
struct sn_flame *sn_flame_hold(struct sn_flame *flame);
void sn_flame_release(struct sn_flame *flame); /* NULL is fine */

uint64_t sn_flame_version(const struct sn_flame *flame);
size_t sn_flame_bytes(const struct sn_flame *flame); /* of memory */
size_t sn_flame_node_count(const struct sn_flame *flame);

/* {"version", "since", "view", "unit", "total", "durationSeconds", "lost", "complete",
 *  "frames": [[id, name, module, kind, flags, source]...], "nodes": [[id, parent, frame, self,
 * total]...]}. `since` 0, or one that is not known any more: all of it, and "since" is 0. */
struct sn_flame_show {
    uint64_t since;
    const char *view;
    bool is_complete;
};
void sn_flame_write(const struct sn_flame *flame, const struct sn_flame_show *show,
                    struct sn_buf *to);

#endif
