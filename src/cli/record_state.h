/* Recordings that run on their own, by name: a folder that only their owner can enter holds what is
 * known of each.
 *
 * NAME.lock is held by the recorder as long as it lives, so that the kernel tells who it is and
 * whether it died; NAME.state says how far it is, NAME.words and NAME.json are its last words, and
 * NAME.log has whatever else it or its command printed. */
#ifndef SN_CLI_RECORD_STATE_H
#define SN_CLI_RECORD_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "sonde/record.h"

#define SN_RECORD_NAME_MAX 64u

struct sonde_error;

enum sn_record_file {
    SN_RECORD_LOCK,
    SN_RECORD_STATE,
    SN_RECORD_NEW_STATE,
    SN_RECORD_WORDS,
    SN_RECORD_JSON,
    SN_RECORD_LOG,
    SN_RECORD_FILE_COUNT,
};

/* One of them: a name in a folder. */
struct sn_record_place {
    int folder; /* owns; -1: none */
    char name[SN_RECORD_NAME_MAX + 1];
};

struct sn_record_state {
    pid_t pid; /* of its recorder; 0: that lives no more */
    int stage; /* enum sonde_record_stage */
    bool is_over;
    int exit_code; /* once it is over */
    uint64_t duration_ns;
    uint64_t sample_count;
    uint64_t lost_count;
    uint64_t process_count;
    uint64_t runtime_count;
    uint64_t byte_count;
    char output[PATH_MAX]; /* the archive, or the journal while it records */
};

/* Letters, digits, "._-"; SONDE_E_ARGUMENT. */
int sn_record_check_name(const char *name, struct sonde_error *err);

/* Where a new one of this name goes: the folder is made if need be, and must be ours alone. */
int sn_record_place_new(const char *name, struct sn_record_place *ret_place,
                        struct sonde_error *err);

/* Where the one of this name is; SONDE_E_NOT_FOUND. */
int sn_record_place_find(const char *name, struct sn_record_place *ret_place,
                         struct sonde_error *err);

/* Every one there is. Borrowed during the call. */
typedef void sn_record_place_fn(void *user, const struct sn_record_place *place);
void sn_record_places(sn_record_place_fn *each, void *user);

void sn_record_place_done(struct sn_record_place *place);

static inline void sn_record_place_done_auto(struct sn_record_place *place)
{
    sn_record_place_done(place);
}

/* Opens one of its files; `flags` as open's. -1 with errno. The caller closes it. */
int sn_record_open(const struct sn_record_place *place, enum sn_record_file file, int flags);

/* Keeps everybody off its files until the descriptor is closed: it has no recorder, and gets none.
 * -1: it has one. */
int sn_record_take(const struct sn_record_place *place);

/* Its files are gone. Only for who has taken it. */
void sn_record_forget(const struct sn_record_place *place);

/* Says that this process is its recorder, until it ends. SONDE_E_ARGUMENT when there is one. */
int sn_record_hold(const struct sn_record_place *place, struct sonde_error *err);

/* The recorder that holds it; 0 for none. */
pid_t sn_record_holder(const struct sn_record_place *place);

bool sn_record_state_read(const struct sn_record_place *place, struct sn_record_state *ret_state);
void sn_record_state_write(const struct sn_record_place *place,
                           const struct sn_record_state *state);

#endif
