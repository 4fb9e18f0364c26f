/* The same for the roads thread of a controller, from the test's. */
#ifndef SN_TEST_FAILING_ROADS_H
#define SN_TEST_FAILING_ROADS_H

#include "controller_bench.h"
#include "failing_memory.h"

static inline void roads_fail_here(void *user)
{
    memory_fails_at(*(unsigned *)user);
}

static inline void roads_end_here(void *user)
{
    memory_ends_after(*(unsigned *)user);
}

static inline void roads_are_back_here(void *user)
{
    *(unsigned *)user = memory_is_back();
}

/* The n-th request of that thread from now on is refused. */
static inline void roads_memory_fails_at(struct controller *bench, unsigned n)
{
    controller_on_roads(bench, roads_fail_here, &n);
}

/* Every request of it is refused, after `n` of them. */
static inline void roads_memory_ends_after(struct controller *bench, unsigned n)
{
    controller_on_roads(bench, roads_end_here, &n);
}

static inline unsigned roads_memory_is_back(struct controller *bench)
{
    unsigned refused;
    controller_on_roads(bench, roads_are_back_here, &refused);
    return refused;
}

#endif
