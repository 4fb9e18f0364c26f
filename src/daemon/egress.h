/* Where finished artefacts go besides HTTP: folders that the administrator named. */
#ifndef SN_EGRESS_H
#define SN_EGRESS_H

#include <stddef.h>

#include "sonde/error.h"

struct sn_serve_options;

/* The folder of that provider; NULL: there is none. Borrowed from the options. */
const char *sn_egress_folder(const struct sn_serve_options *options, const char *name);

/* Checks "name=/absolute/folder". */
int sn_egress_check(const char *text, struct sonde_error *err);

/* Puts the file at `path` into `folder` as `name`, or as `id`_`name` when that is taken; never over
 * another. `to` gets the whole path. Waits for the disk. */
struct sn_egress_order {
    const char *path;
    const char *folder;
    const char *name;
    const char *id;
};
int sn_egress_save(const struct sn_egress_order *order, char *to, size_t size,
                   struct sonde_error *err);

#endif
