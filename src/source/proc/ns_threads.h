/* Thread ids of a process in a pid namespace of its own, as it counts them, to those that we see.
 * One thread. */
#ifndef SN_NS_THREADS_H
#define SN_NS_THREADS_H

#include <stdint.h>

struct sn_ns_threads;

/* NULL without memory. A process that counts as we do costs nothing. */
struct sn_ns_threads *sn_ns_threads_new(uint32_t pid);
void sn_ns_threads_free(struct sn_ns_threads *threads);

/* Our id of the thread; `ns_tid` itself when nothing is known of it: it has ended, or it is one of
 * the runtime's special numbers. */
uint64_t sn_ns_threads_find(struct sn_ns_threads *threads, uint64_t ns_tid);

#endif
