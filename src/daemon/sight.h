/* Which processes there are, looked at once for everybody who asks within a second, in a worker:
 * a process that does not answer holds up nobody. */
#ifndef SN_SIGHT_H
#define SN_SIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/process.h"

struct sn_rest_call;
struct sn_daemon;
struct sn_sight;

int sn_sight_new(struct sn_daemon *daemon, struct sn_sight **ret_sight, struct sonde_error *err);
void sn_sight_free(struct sn_sight *sight);

/* The processes as of at most a second ago. From a worker, or the store's seat: may wait. The
 * caller lets go of it with sn_sight_release. NULL with the reason in `err`. */
struct sonde_process_list *sn_sight_hold(struct sn_sight *sight, struct sonde_error *err);
void sn_sight_release(struct sn_sight *sight, struct sonde_process_list *list);

/* What a request means by pid, uid and name (any of them NULL); none: the only one there is,
 * ourselves left out. Worker seat. On failure the call has its problem: 400 when it is none or
 * several, as dotnet-monitor says it; 404 for native routes. */
int sn_sight_choose(struct sn_rest_call *call, const char *pid, const char *uid, const char *name,
                    uint32_t *ret_pid);

/* "0a1b…" as a GUID, small letters with hyphens; `to` needs 37 bytes. */
void sn_sight_uid(const struct sonde_process *process, char to[37]);

#endif
