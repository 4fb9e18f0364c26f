#include "source/ipc/orphans.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/folder.h"
#include "base/own.h"
#include "base/run_folder.h"
#include "source/ipc/neighbour.h"

/* More than a runtime can have, in each folder. */
#define LIST_MAX 256u

/* One stop; the runtime's writer sleeps a tenth of a second between its turns. */
#define STOP_TIMEOUT_NS (2ull * SN_NS_PER_SECOND)

/* Names of files, latest last. */
struct sn_orphan_list {
    size_t count;
    struct {
        size_t folder;
        char name[SN_LEDGER_NAME_SIZE + 12];
    } items[LIST_MAX];
};

static bool list_add(struct sn_orphans *orphans, size_t folder, const char *name)
{
    if (strlen(name) >= sizeof(orphans->list->items[0].name))
        return true;
    if (!orphans->list)
        orphans->list = calloc(1, sizeof(*orphans->list));
    if (!orphans->list || orphans->list->count == LIST_MAX)
        return false;
    size_t at = orphans->list->count++;
    orphans->list->items[at].folder = folder;
    (void)snprintf(orphans->list->items[at].name, sizeof(orphans->list->items[at].name), "%s",
                   name);
    return true;
}

/* Whose process has gone needs no stop. */
static bool is_of_dead(const char *name)
{
    int pid = sn_ledger_name_pid(name);
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d", pid);
    return pid && !sn_ipc_is_neighbour(pid) && access(path, F_OK) != 0;
}

static void look_through(struct sn_orphans *orphans, size_t number, const char *prefix)
{
    int folder = sn_run_folder_open(number);
    SN_AUTO(sn_closedir) DIR *all = folder >= 0 ? fdopendir(folder) : NULL;
    if (!all) {
        sn_close(folder);
        return;
    }
    for (const struct dirent *entry = readdir(all); entry; entry = readdir(all)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            if (!list_add(orphans, number, entry->d_name))
                return;
        } else if (is_of_dead(entry->d_name)) {
            sn_ledger_remove_left(folder, entry->d_name);
        }
    }
}

static bool stop_next(struct sn_orphans *orphans);

static void stopped(struct sn_ipc_call *call, int status)
{
    struct sn_orphans *orphans = call->user;
    if (status != SONDE_OK) { /* it has gone or is stuck: the others would not fare better */
        sn_orphans_cancel(orphans);
    } else {
        sn_ipc_reply_done(&call->reply);
        if (stop_next(orphans))
            return;
    }
    orphans->done(orphans->user);
}

/* A stop that nobody waits for any more is carried out all the same, perhaps much later. A second
 * one behind it could end another tool's session, which got the same id meanwhile. */
static void strike_before_stop(struct sn_ipc_call *call)
{
    struct sn_orphans *orphans = call->user;
    sn_ledger_strike(&orphans->note);
}

static bool stop(struct sn_orphans *orphans, uint64_t session_id)
{
    struct sn_ipc_request request = {.command = SN_IPC_STOP_TRACING, .session_id = session_id};
    orphans->call =
        (struct sn_ipc_call){.done = stopped, .sends = strike_before_stop, .user = orphans};
    if (sn_ipc_call_start(&orphans->call, orphans->loop, orphans->route, &request, STOP_TIMEOUT_NS,
                          NULL) == SONDE_OK)
        return true;
    sn_ledger_leave(&orphans->note);
    return false;
}

/* False: all are looked at. */
static bool stop_next(struct sn_orphans *orphans)
{
    while (orphans->list && orphans->list->count) {
        size_t at = --orphans->list->count;
        const char *name = orphans->list->items[at].name;
        SN_AUTO(sn_close) int folder = sn_run_folder_open(orphans->list->items[at].folder);
        uint64_t session_id = 0;
        enum sn_ledger_state state = SN_LEDGER_OWNED;
        if (folder >= 0)
            state =
                sn_ledger_judge(folder, name, &orphans->route->target, &orphans->note, &session_id);
        if (state == SN_LEDGER_OVER)
            sn_ledger_strike(&orphans->note);
        else if (state == SN_LEDGER_ORPHAN && stop(orphans, session_id))
            return true;
    }
    free(SN_TAKE(orphans->list));
    return false;
}

bool sn_orphans_start(struct sn_orphans *orphans, struct sn_loop *loop,
                      const struct sn_ipc_route *route, sn_orphans_fn *done, void *user)
{
    char prefix[SN_LEDGER_NAME_SIZE];
    *orphans = (struct sn_orphans){.done = done, .user = user, .loop = loop, .route = route};
    (void)sn_ledger_prefix(&route->target, prefix);
    for (size_t i = 0; i < SN_RUN_FOLDERS; i++)
        look_through(orphans, i, prefix);
    return stop_next(orphans);
}

void sn_orphans_cancel(struct sn_orphans *orphans)
{
    sn_ipc_call_cancel(&orphans->call);
    sn_ledger_leave(&orphans->note);
    free(SN_TAKE(orphans->list));
}
