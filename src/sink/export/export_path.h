/* Points as dotted paths with one number each, as Graphite and StatsD know them. */
#ifndef SN_EXPORT_PATH_H
#define SN_EXPORT_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "sink/export/formatters.h"

struct sn_buf;

#define SN_EXPORT_FIELDS_MAX 40u
#define SN_EXPORT_PATH_ROOM  (256u << 10) /* bytes for a path that is yet to be cut */

/* One number of a point. */
struct sn_export_field {
    char name[24]; /* "p95"; "" for the one that the point is about */
    double value;  /* finite */
    bool is_added; /* of the interval; otherwise it holds now */
};

/* The numbers that a point's kind has; `fields` needs SN_EXPORT_FIELDS_MAX places. */
size_t sn_export_fields(const struct sonde_point *point, struct sn_export_field *fields);

/* "prefix.provider.name"; with `labels` "prefix.host.process.pid.provider.name.tag.value" instead,
 * whose length is limited. */
void sn_export_path(struct sn_buf *to, const char *prefix, const struct sonde_point *point,
                    const struct sn_export_labels *labels);

/* The prefix, and of labels what stands before a name; each with its dot. */
void sn_export_path_head(struct sn_buf *to, const char *prefix,
                         const struct sn_export_labels *labels);

/* `path` with its dots; what may not stand between them is replaced. */
void sn_export_dotted(struct sn_buf *to, const char *path);

#endif
