#include "sink/aggregate/aggregates.h"

#include "sink/aggregate/samples.h"

const struct sn_aggregate sn_aggregates[] = {
    {"samples", &sn_samples_request, false, sn_samples_sink},
    {0},
};
