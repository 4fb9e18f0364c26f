/* The ledger of sessions: a small file for each session that this user's programs have open, held
 * under a lock while its owner lives. What a killed one leaves says which session nobody reads any
 * more (docs/adr/0033-ledger-of-sessions.md). Without a place for it there is none; that costs the
 * clean-up only. */
#ifndef SN_LEDGER_H
#define SN_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/ipc/stream_end.h"

struct sn_buf;
struct sn_ipc_target;

#define SN_LEDGER_SIZE      320u /* of a file, at most */
#define SN_LEDGER_NAME_SIZE 80u
#define SN_BOOT_SIZE        37u

/* What identifies a session beyond doubt. */
struct sn_ledger_entry {
    char boot[SN_BOOT_SIZE]; /* since when the machine runs: its boot id */
    uint64_t network;        /* namespace in which the kernel knows `end` */
    int pid;                 /* with start_ticks, the process */
    uint64_t start_ticks;
    uint64_t session_id;
    struct sn_stream_end end;
};

void sn_ledger_encode(const struct sn_ledger_entry *entry, struct sn_buf *buf);

/* False: it is anything but what the encoder writes. */
bool sn_ledger_decode(const void *bytes, size_t size, struct sn_ledger_entry *ret_entry);

/* One entry that is ours. Zero it before use. */
struct sn_ledger_note {
    bool is_held;
    int fd;         /* owns; with the lock */
    char path[144]; /* of its file */
};

/* Notes a session whose stream is `stream`. */
void sn_ledger_enter(struct sn_ledger_note *note, const struct sn_ipc_target *target,
                     uint64_t session_id, int stream);

/* The session has ended: nothing is left to do. No-op when it is not held. */
void sn_ledger_strike(struct sn_ledger_note *note);

/* Gives it up without knowing whether the session has ended: somebody will look. */
void sn_ledger_leave(struct sn_ledger_note *note);

/* Moves it out of its place. */
struct sn_ledger_note sn_ledger_take(struct sn_ledger_note *note);

/* "session-PID@START-": what the names of a target's files begin with. Returns `to`. */
const char *sn_ledger_prefix(const struct sn_ipc_target *target, char to[SN_LEDGER_NAME_SIZE]);

/* The pid in such a name; 0: it is something else's. */
int sn_ledger_name_pid(const char *name);

/* What is left of an entry. */
enum sn_ledger_state {
    SN_LEDGER_OWNED,  /* its owner lives, or it is not for us to judge: hands off */
    SN_LEDGER_OVER,   /* nothing to do but to remove the file */
    SN_LEDGER_ORPHAN, /* the session lives and nobody reads it */
};

/* Judges the file `name`, of a session of `target`, and locks it for us unless it is owned. */
enum sn_ledger_state sn_ledger_judge(int folder, const char *name,
                                     const struct sn_ipc_target *target,
                                     struct sn_ledger_note *ret_note, uint64_t *ret_session_id);

/* Removes the file `name` if nobody has a lock on it. */
void sn_ledger_remove_left(int folder, const char *name);

#endif
