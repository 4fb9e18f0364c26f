/* Which processes a recording is about: pids, patterns of names, or all. One thread. */
#ifndef SN_SCOPE_H
#define SN_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

struct sn_kernel_scope;
struct sonde_error;

struct sn_scope {
    struct sn_table pids;
    char **names; /* owns */
    size_t name_count;
    bool takes_all;
};

int sn_scope_init(struct sn_scope *scope, const struct sn_kernel_scope *from,
                  struct sonde_error *err);
void sn_scope_done(struct sn_scope *scope);

bool sn_scope_add_pid(struct sn_scope *scope, uint32_t pid);

/* By pid or name; children of those in scope are the caller's business. */
bool sn_scope_wants(const struct sn_scope *scope, uint32_t pid, const char *name);

#endif
