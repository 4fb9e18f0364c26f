/* Merges events by time in a bounded window: the one copy on the road. One thread, and not from
 * within `release`: a sink says nothing on its own road.
 *
 * Equal stacks are held once: those of threads that wait come again and again.
 *
 * Events are held until every source has said that nothing older will come. Over the byte limit the
 * oldest half is let go early; an event that arrives behind what has left is passed on and counted.
 */
#ifndef SN_ORDER_H
#define SN_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct sn_event;
struct sn_order;
struct sonde_error;

/* `word` is what the event was held with. */
typedef void sn_order_fn(void *user, const struct sn_event *event, uint64_t word);

int sn_order_new(size_t limit_bytes, sn_order_fn *release, void *user, struct sn_order **ret_order,
                 struct sonde_error *err);
void sn_order_free(struct sn_order *order); /* what is held is dropped */

/* Copies the event. `word` is the caller's and comes back with it. SONDE_E_NOMEM when it could not
 * be kept: it is then lost. */
int sn_order_hold(struct sn_order *order, const struct sn_event *event, uint64_t word);

/* Releases an event whose time does not matter at once, with the time of what left last. */
void sn_order_pass(struct sn_order *order, const struct sn_event *event, uint64_t word);

/* Releases, in order of time, everything not younger than `until_ns`. */
void sn_order_release(struct sn_order *order, uint64_t until_ns);

/* Clears `bits` in the words of all that is held. */
void sn_order_clear_bits(struct sn_order *order, uint64_t bits);

/* Bytes that are held. */
size_t sn_order_size(const struct sn_order *order);

/* Events that came too late to be put in their place. */
uint64_t sn_order_late_count(const struct sn_order *order);

#endif
