/* From a task to those that go on when it completes: continuations of every kind, followed to the
 * async methods behind them. Answers are kept by type. Borrows runtime and types. One thread. */
#ifndef SN_TASK_LINKS_H
#define SN_TASK_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_object_index;
struct sn_runtime_memory;
struct sn_task_links;
struct sn_type_system;
struct sonde_error;

int sn_task_links_new(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                      const struct sn_object_index *index, struct sn_task_links **ret_links,
                      struct sonde_error *err);
void sn_task_links_free(struct sn_task_links *links);

/* Told of each box that waits, directly or through something that is no async method. */
typedef bool sn_task_link_fn(void *user, uint64_t box);

/* Follows the continuation `object`. *ret_blocks: an object by which a thread waits, or 0. False:
 * `take` gave false. */
bool sn_task_links_follow(struct sn_task_links *links, uint64_t object, sn_task_link_fn *take,
                          void *user, uint64_t *ret_blocks);

/* Of an object that is waited for: whether it is a task that has completed. */
bool sn_task_links_is_completed(struct sn_task_links *links, uint64_t object);

#endif
