#include "api/machine_way.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/machine_scope.h"
#include "base/clock.h"
#include "base/err.h"
#include "sonde/record.h"
#include "source/ipc/discover.h"
#include "source/proc/rights.h"

/* An event a thread is scheduled in and out with it: at this rate that is more than a few percent
 * of the target's time. */
#define MOST_SWITCHES_A_SECOND 10000u
#define SWITCH_SAMPLE_NS       (50ull * SN_NS_PER_MS)
#define PROCESSES_WATCHED      16u

#define THREADS_ARE "events of each thread: no kernel frames, dearer for what switches often"
#define RUNTIME_IS  "the runtime's own sampler: managed frames only"

/* The process in scope that switches most; watching each takes a moment, so not all of many. */
struct busiest {
    const struct sn_kernel_scope *scope;
    uint32_t pid;
    uint64_t rate;
    unsigned watched;
};

static void watch(struct busiest *busiest, uint32_t pid)
{
    uint64_t rate = sn_kernel_switch_rate(pid, SWITCH_SAMPLE_NS);
    busiest->watched++;
    if (rate > busiest->rate) {
        busiest->rate = rate;
        busiest->pid = pid;
    }
}

static int watch_found(void *user, const struct sn_ipc_target *target)
{
    struct busiest *busiest = user;
    if (busiest->watched < PROCESSES_WATCHED && target->reach != SN_IPC_REACH_DENIED &&
        sn_machine_scope_has(busiest->scope, (uint32_t)target->pid))
        watch(busiest, (uint32_t)target->pid);
    return SONDE_OK;
}

static void find_busiest(const struct sn_kernel_scope *scope, struct busiest *ret_busiest)
{
    *ret_busiest = (struct busiest){.scope = scope};
    for (size_t i = 0; i < scope->pid_count && i < PROCESSES_WATCHED; i++)
        watch(ret_busiest, scope->pids[i]);
    (void)sn_ipc_discover(watch_found, ret_busiest, NULL); /* without /proc nothing is found */
}

static void take(struct sn_machine_way *way, int kind, enum sn_kernel_rung rung)
{
    way->way = kind;
    way->rung = rung;
}

/* The best there is; it may lack names. */
static void take_machine(struct sn_machine_way *way)
{
    take(way, SONDE_RECORD_MACHINE, SN_RUNG_MACHINE);
    if (!sn_rights_kernel_names())
        (void)snprintf(way->note, sizeof(way->note),
                       "kernel frames without names: the kernel shows its addresses to root and "
                       "CAP_SYSLOG, with kernel.kptr_restrict at 1 or below");
}

static void choose_best(const struct sn_kernel_scope *scope, enum sn_kernel_rung best,
                        const char *why, struct sn_machine_way *way)
{
    struct busiest busiest;
    if (best == SN_RUNG_MACHINE) {
        take_machine(way);
        return;
    }
    if (best == SN_RUNG_NONE) {
        take(way, SONDE_RECORD_RUNTIME, best);
        (void)snprintf(way->note, sizeof(way->note), RUNTIME_IS "; %s", why);
        return;
    }
    find_busiest(scope, &busiest);
    if (busiest.rate <= MOST_SWITCHES_A_SECOND) {
        take(way, SONDE_RECORD_THREADS, best);
        (void)snprintf(way->note, sizeof(way->note), THREADS_ARE "; %s", why);
        return;
    }
    take(way, SONDE_RECORD_RUNTIME, SN_RUNG_NONE);
    (void)snprintf(way->note, sizeof(way->note),
                   RUNTIME_IS "; pid %" PRIu32 " switches %" PRIu64
                              " times a second, which events of each thread would slow down; %s",
                   busiest.pid, busiest.rate, why);
}

int sn_machine_way_choose(const struct sn_kernel_scope *scope, int wanted,
                          struct sn_machine_way *ret_way, struct sonde_error *err)
{
    const char *why = "";
    enum sn_kernel_rung best = sn_kernel_probe(&why);
    *ret_way = (struct sn_machine_way){0};
    switch (wanted) {
    case SONDE_RECORD_BEST: choose_best(scope, best, why, ret_way); return SONDE_OK;
    case SONDE_RECORD_MACHINE:
        if (best != SN_RUNG_MACHINE)
            return sn_fail(err, SONDE_E_DENIED, 0, "%s", why);
        take_machine(ret_way);
        return SONDE_OK;
    case SONDE_RECORD_THREADS:
        if (best == SN_RUNG_NONE)
            return sn_fail(err, SONDE_E_DENIED, 0, "%s", why);
        take(ret_way, wanted, SN_RUNG_THREADS);
        (void)snprintf(ret_way->note, sizeof(ret_way->note), THREADS_ARE "; as asked");
        return SONDE_OK;
    case SONDE_RECORD_RUNTIME:
        take(ret_way, wanted, SN_RUNG_NONE);
        (void)snprintf(ret_way->note, sizeof(ret_way->note), RUNTIME_IS "; as asked");
        return SONDE_OK;
    default: return sn_fail(err, SONDE_E_ARGUMENT, 0, "there is no way %d to record", wanted);
    }
}
