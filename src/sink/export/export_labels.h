/* The labels of a point as one format wants them: sorted, each name once. */
#ifndef SN_EXPORT_LABELS_H
#define SN_EXPORT_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "sink/export/formatters.h"

struct sn_buf;

/* How a format writes them. */
struct sn_label_rules {
    void (*put_name)(struct sn_buf *to, const char *name);
    void (*put_value)(struct sn_buf *to, const char *value);
    const char *process;  /* what the process's name is called */
    const char *reserved; /* a name that the format keeps to itself; or "" */
    const char *joiner;   /* between the values of names that became one */
    bool with_scope;      /* the meter's name and version are labels too */
};

struct sn_label_set {
    struct sonde_tag *items; /* owns the array; texts are in the arena */
    size_t count;
    size_t capacity;
    struct sn_arena arena;
};

/* In place. `point` may be NULL: no tags. Labels without a value are left out. A tag of the point
 * that is called as one of `labels` gets "exported_" before its name; one of the
 * configuration stands for what is known of the process. False: no memory. */
bool sn_label_set_init(struct sn_label_set *set, const struct sn_label_rules *rules,
                       const struct sonde_point *point, const struct sn_export_labels *labels);
void sn_label_set_done(struct sn_label_set *set);

static inline void sn_label_set_done_auto(struct sn_label_set *set)
{
    sn_label_set_done(set);
}

#endif
