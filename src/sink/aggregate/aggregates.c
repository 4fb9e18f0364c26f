#include "sink/aggregate/aggregates.h"

const struct sn_aggregate sn_aggregates[] = {
    {0},
};
