/* Who decides what a process has only once: the interval of its counters and the settings of its
 * metrics session. The first sonde of a user holds a lock by pid and start time and writes there
 * what it asks for; the next ones ask for the same, and take over when it goes
 * (docs/adr/0020-one-owner-a-process.md). What a tool that knows of no lock holds is learnt from
 * the runtime's refusal (api/hub_conflict). */
#ifndef SN_HUB_OWNER_H
#define SN_HUB_OWNER_H

#include <stdbool.h>
#include <stdint.h>

struct sn_ask;
struct sn_ipc_target;

#define SN_SETTING_SIZE 24u

/* As arguments have them; "" where nobody has asked. */
struct sn_hub_settings {
    char interval[SN_SETTING_SIZE];   /* EventCounterIntervalSec: the shortest of all providers */
    char refresh[SN_SETTING_SIZE];    /* RefreshInterval */
    char series[SN_SETTING_SIZE];     /* MaxTimeSeries */
    char histograms[SN_SETTING_SIZE]; /* MaxHistograms */
};

/* Zero it, with `fd` -1. */
struct sn_hub_owner {
    int fd;             /* owns; the lock, while it is ours */
    char path[128];     /* "": not looked for yet, or there is nowhere to put it */
    uint32_t other_pid; /* who holds it; 0: nobody, or we do */
    struct sn_hub_settings theirs;
};

/* Takes the lock, or reads what its holder has asked for. True: `other_pid` or `theirs` differ from
 * before. Where no lock can be had, it is as if it were ours. */
bool sn_owner_look(struct sn_hub_owner *owner, const struct sn_ipc_target *target);

/* Writes what is asked for, if the lock is ours. */
void sn_owner_tell(const struct sn_hub_owner *owner, const struct sn_hub_settings *settings);

/* Gives it back. */
void sn_owner_release(struct sn_hub_owner *owner);

/* What of these settings `ask` has. */
void sn_settings_of(const struct sn_ask *ask, struct sn_hub_settings *ret_settings);

/* Makes `ask` say what `settings` has, where it says something of the kind. False: no memory. */
bool sn_settings_apply(const struct sn_hub_settings *settings, struct sn_ask *ask);

/* Whether `to` takes effect only after `from` has ended: the runtime makes no interval longer, and
 * refuses other settings of metrics, while somebody listens. */
bool sn_settings_clash(const struct sn_ask *from, const struct sn_ask *to);

#endif
