/* What processes really run, by the kernel's clocks: for samples that tell only that a thread could
 * have run, as the runtime's own do. One thread. */
#ifndef SN_TOP_CLOCKS_H
#define SN_TOP_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"

struct sn_top_window;

struct sn_top_clock;

struct sn_top_clocks {
    struct sn_table index;       /* pid to number and one */
    struct sn_top_clock *clocks; /* owns */
    size_t count;
    size_t capacity;
};

void sn_top_clocks_init(struct sn_top_clocks *clocks);
void sn_top_clocks_done(struct sn_top_clocks *clocks);

/* A sample of this process came: its clock is watched from the first on. */
void sn_top_clocks_watch(struct sn_top_clocks *clocks, uint32_t pid);

bool sn_top_clocks_has(const struct sn_top_clocks *clocks, uint32_t pid);

/* Looks at the clocks, and finds out by how much what the window holds is too much. */
void sn_top_clocks_settle(struct sn_top_clocks *clocks, const struct sn_top_window *window,
                          uint64_t window_ns);

/* What `run_ns` of samples of a process really are; the same for one that is not watched. */
uint64_t sn_top_clocks_real(const struct sn_top_clocks *clocks, uint32_t pid, uint64_t run_ns);

#endif
