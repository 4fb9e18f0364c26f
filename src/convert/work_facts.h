/* What text, JSON and page say alike about the thread pool, requests and tasks. */
#ifndef SN_WORK_FACTS_H
#define SN_WORK_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_buf;
struct sn_pool_report;
struct sn_request_report;
struct sn_route;
struct sn_task_kind;
struct sn_task_report;

/* Why the pool is called starved, a sentence without its full stop; NULL when it is not. The
 * runtime said so, or work waits so long that people notice. */
const char *sn_pool_starvation(const struct sn_pool_report *pool, char to[128]);

/* What to do about it, in two lines. */
#define SN_POOL_ADVICE_1 "Pool threads that block make others wait: look for .Result, .Wait(),"
#define SN_POOL_ADVICE_2 "locks, sleeps and sync I/O on them."

/* More of them than at the trace's seams have no activity id. */
bool sn_requests_are_guessed(const struct sn_request_report *requests);

/* False: no status was told, so that none failed cannot be said. */
bool sn_route_knows_failures(const struct sn_route *route);

#define SN_JIT_NOT_TOLD "single methods are not told of: --profile jit asks for them"

/* Kinds of operations of which some had not ended: the reader's own first, the oldest first. */
struct sn_open_tasks {
    const struct sn_task_kind **kinds; /* owns; what it points to is the report's */
    size_t count;
    size_t own_count; /* so many of them are not the framework's */
    /* of the framework's, whose connections and timers wait for as long as the program lives: */
    uint64_t framework_open_count;
    uint64_t framework_oldest_ns;
};

void sn_open_tasks_find(struct sn_open_tasks *open, const struct sn_task_report *tasks);
void sn_open_tasks_done(struct sn_open_tasks *open);

static inline void sn_open_tasks_done_auto(struct sn_open_tasks *open)
{
    sn_open_tasks_done(open);
}

/* Appends "the framework's own: SocketConnection.DoReceive, ...". */
void sn_open_tasks_framework(struct sn_buf *to, const struct sn_open_tasks *open);

/* Appends "operations that began before the trace are not seen", and how many of them ended. */
void sn_tasks_unseen(struct sn_buf *to, const struct sn_task_report *tasks);

#endif
