/* The keys of the controller, in its state folder: a line each, "id name scope hash created
 * expires". Of the token only its SHA-256 is kept; times are seconds since 1970, 0 is never. The
 * file is 0600 and replaced as a whole; who changes it holds a lock on the folder meanwhile. */
#ifndef SN_KEY_FILE_H
#define SN_KEY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/access.h"
#include "daemon/token.h"
#include "sonde/error.h"

#define SN_KEY_COUNT_MAX 1024u
#define SN_KEY_NAME_MAX  64u
#define SN_KEY_DEFAULT   "default" /* id of the key in the file `key` */

struct sn_key {
    char id[17];
    char name[SN_KEY_NAME_MAX + 1]; /* letters, digits and ._@- */
    enum sn_scope scope;
    uint8_t hash[SN_HASH_SIZE];
    uint64_t created_s;
    uint64_t expires_s; /* 0: never */
    uint64_t used_s; /* when it was shown last; 0: never, or not since the start; not in the file */
};

struct sn_key_list {
    struct sn_key *keys; /* owns */
    size_t count;
};

void sn_key_list_done(struct sn_key_list *list);
static inline void sn_key_list_done_auto(struct sn_key_list *list)
{
    sn_key_list_done(list);
}

/* No file is no key. A file that is damaged, or that others may write, is refused as a whole. */
int sn_key_file_read(const char *folder, struct sn_key_list *ret_list, struct sonde_error *err);

/* Makes a key of this name ("": its id), scope and end; the rest is filled in. The token is told
 * here and never again. SONDE_E_BUSY: there is one of that name. */
int sn_key_file_add(const char *folder, struct sn_key *key, char ret_token[SN_TOKEN_SIZE],
                    struct sonde_error *err);

/* By id or name; *ret_key is what it was. SONDE_E_NOT_FOUND. */
int sn_key_file_revoke(const char *folder, const char *which, struct sn_key *ret_key,
                       struct sonde_error *err);

/* Sees to the key of the machine's own programs: every scope, its token in the file `key` (0600).
 * Made anew when it is missing, was revoked, or does not fit. */
int sn_key_file_default(const char *folder, struct sonde_error *err);

#endif
