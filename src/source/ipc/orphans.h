/* Stops the sessions that this user's killed programs have left in one runtime, before another is
 * opened there: a runtime has room for 64 and notices a reader that is gone only when it next
 * writes to it. */
#ifndef SN_ORPHANS_H
#define SN_ORPHANS_H

#include "source/ipc/call.h"
#include "source/ipc/ledger.h"

struct sn_orphan_list;

typedef void sn_orphans_fn(void *user);

/* Zero it before use; must not move while it works. One thread: the loop's. */
struct sn_orphans {
    sn_orphans_fn *done;
    void *user;
    struct sn_loop *loop;
    const struct sn_ipc_route *route; /* borrows */
    struct sn_orphan_list *list;      /* owns; what is left to look at */
    struct sn_ledger_note note;       /* of the one that is being stopped */
    struct sn_ipc_call call;
};

/* True: some are being stopped, `done` is called afterwards, from the loop, however that went.
 * False: there is nothing to wait for, and it will not be called. */
bool sn_orphans_start(struct sn_orphans *orphans, struct sn_loop *loop,
                      const struct sn_ipc_route *route, sn_orphans_fn *done, void *user);

/* Gives up. No-op when nothing is under way. */
void sn_orphans_cancel(struct sn_orphans *orphans);

#endif
