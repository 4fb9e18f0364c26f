/* Where a series stands since the watching began, or since the program's start. */
#ifndef SN_EXPORT_TOTALS_H
#define SN_EXPORT_TOTALS_H

#include <math.h>

#include "sink/export/formatters.h"

/* Of a rate or an up-down counter; NAN when nobody told and nobody added up. */
static inline double sn_export_total(const struct sn_export_row *row)
{
    if (!isnan(row->point->total) || !row->totals || row->point->kind != SONDE_POINT_RATE)
        return row->point->total;
    return row->totals->added;
}

/* Of a histogram; of its last interval when nobody added up. */
static inline struct sn_export_totals sn_export_histogram_totals(const struct sn_export_row *row)
{
    if (row->totals)
        return *row->totals;
    return (struct sn_export_totals){.sum = row->point->sum, .count = row->point->count};
}

#endif
