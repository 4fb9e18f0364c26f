/* Who did what: a line of JSON for everything that changes something, that is refused for who asks
 * or where he comes from, or that shows secrets. Addresses are written without their queries. The
 * file is 0600, and put aside at 16 MB, one old one being kept. HTTP thread only. */
#ifndef SN_AUDIT_H
#define SN_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/access.h"
#include "sonde/error.h"

struct sn_audit;

struct sn_audit_entry {
    const struct sn_identity *who;
    const char *peer; /* "127.0.0.1:5123", "unix" */
    const char *method;
    const char *path;
    unsigned status;
    uint32_t pid;      /* the process it was about; 0: none, or not known */
    const char *about; /* what was made or changed; NULL or "": its path says it all */
    uint64_t took_ns;
    enum sn_scope needed; /* by the route; SN_SCOPE_NONE when there is none */
    bool is_archive;      /* a recording as it is was handed out, with what is secret in it */
};

/* Made when it is not there. */
int sn_audit_open(const char *path, struct sn_audit **ret_audit, struct sonde_error *err);
void sn_audit_close(struct sn_audit *audit);

/* Whether it is worth a line. */
bool sn_audit_wants(const struct sn_audit_entry *entry);

/* Never fails: lines that cannot be written are counted, and the next says how many. Refusals are
 * written at a hundred in ten seconds at most, so that nobody can flush out the rest; the next line
 * says how many were left out. */
void sn_audit_write(struct sn_audit *audit, const struct sn_audit_entry *entry);

/* Says in the log how many lines it lacks, if any are missing. False: it still cannot be written.
 */
bool sn_audit_catch_up(struct sn_audit *audit);

#endif
