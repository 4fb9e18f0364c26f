/* Stacks of the last seconds, each with how long it ran, was ready or waited: time in slices, the
 * oldest of which is used again. Bounded; what finds no room loses its stack, not its time. One
 * thread. */
#ifndef SN_TOP_WINDOW_H
#define SN_TOP_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_top_window;
struct sonde_error;

enum sn_top_kind { SN_TOP_RUN, SN_TOP_WAIT };

/* A stack of one process in one slice. Borrowed. */
struct sn_top_stack {
    uint32_t pid;
    uint8_t kind; /* enum sn_top_kind */
    uint32_t depth;
    uint64_t weight_ns;     /* ran, or waited */
    uint64_t ready_ns;      /* had no CPU */
    uint64_t last_ns;       /* when it was last seen */
    const uint64_t *frames; /* leaf first */
};

int sn_top_window_new(uint64_t window_ns, struct sn_top_window **ret_window,
                      struct sonde_error *err);
void sn_top_window_free(struct sn_top_window *window);

/* Adds to what is known; `stack->last_ns` says when. What is older than the window is passed over.
 */
void sn_top_window_add(struct sn_top_window *window, const struct sn_top_stack *stack);

/* The time up to which things may be counted: moves the window even if nothing happens. */
void sn_top_window_move(struct sn_top_window *window, uint64_t now_ns);

/* How much of the window has passed since the first move. */
uint64_t sn_top_window_span(const struct sn_top_window *window);

typedef void sn_top_stack_fn(void *user, const struct sn_top_stack *stack);
void sn_top_window_each(const struct sn_top_window *window, sn_top_stack_fn *each, void *user);

#endif
