/* What a profile is inside; for api/profile.c, api/report.c and api/compare.c. */
#ifndef SN_PROFILE_INTERNAL_H
#define SN_PROFILE_INTERNAL_H

#include "model/profile.h"
#include "sonde/profile.h"

struct sn_report;

struct sonde_profile {
    struct sn_profile *data; /* owns */
    int view;
    int column; /* of data: what the view counts */
    char *title;
    bool is_partial; /* cut or damaged */
    uint64_t lost_count;
    bool has_cpu; /* the columns cpu and wait mean something */
    uint64_t duration_ns;
    struct sn_frame_sum *sums; /* one a frame */
    uint64_t *self;            /* one a node */
    uint64_t *totals;
    uint64_t *thread_totals;
};

static inline void sonde_profile_free_auto(struct sonde_profile **slot)
{
    sonde_profile_free(*slot);
}

/* The profile of a report that a view looks at; NULL when the trace has nothing for it. */
const struct sn_profile *sn_view_profile(const struct sn_report *report, int view);
const char *sn_view_title(int view);
const char *sn_view_column(int view);
bool sn_view_needs_cpu(const char *name);

/* A public write function behind an sn_write_fn, whose user it is. */
struct sn_writer {
    sonde_write_fn *write;
    void *user;
};
int sn_writer_write(void *user, const void *bytes, size_t size, struct sonde_error *err);

#endif
