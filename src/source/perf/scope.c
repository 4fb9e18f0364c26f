#include "source/perf/scope.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/pattern.h"
#include "source/perf/kernel.h"

#define PID_LIMIT 65536u

int sn_scope_init(struct sn_scope *scope, const struct sn_kernel_scope *from,
                  struct sonde_error *err)
{
    *scope = (struct sn_scope){.pids = sn_table_with_limit(PID_LIMIT),
                               .takes_all = !from->pid_count && !from->name_count};
    scope->names = calloc(from->name_count + 1, sizeof(*scope->names));
    if (!scope->names)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the names of processes");
    for (size_t i = 0; i < from->name_count; i++) {
        scope->names[i] = strdup(from->names[i]);
        if (!scope->names[i])
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the names of processes");
        scope->name_count++;
    }
    for (size_t i = 0; i < from->pid_count; i++) {
        if (!sn_scope_add_pid(scope, from->pids[i]))
            return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u processes to record", PID_LIMIT);
    }
    return SONDE_OK;
}

void sn_scope_done(struct sn_scope *scope)
{
    for (size_t i = 0; i < scope->name_count; i++)
        free(scope->names[i]);
    free(scope->names);
    sn_table_done(&scope->pids);
    *scope = (struct sn_scope){0};
}

bool sn_scope_add_pid(struct sn_scope *scope, uint32_t pid)
{
    return sn_table_put(&scope->pids, pid) != NULL;
}

static bool is_asked_for(const struct sn_scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->name_count; i++) {
        if (sn_pattern_matches(scope->names[i], name))
            return true;
    }
    return false;
}

/* The program that a host runs, in `arguments` that end in zeros: "shop" of "dotnet exec
 * /app/shop.dll --urls". It is cut out in place; NULL when there is none. */
static const char *hosted_name(char *arguments, size_t size)
{
    for (size_t at = 0; at < size; at += strlen(arguments + at) + 1) {
        char *argument = arguments + at;
        size_t length = strlen(argument);
        if (length <= 4 || strcmp(argument + length - 4, ".dll") != 0)
            continue;
        argument[length - 4] = 0;
        const char *slash = strrchr(argument, '/');
        return slash ? slash + 1 : argument;
    }
    return NULL;
}

/* To the kernel every program that is run by the host is called "dotnet". */
static bool is_hosted_and_asked_for(const struct sn_scope *scope, uint32_t pid, const char *name)
{
    char path[32];
    char arguments[4096];
    if (!scope->name_count || strcmp(name, "dotnet") != 0)
        return false;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cmdline", pid);
    long size = sn_file_peek_at(AT_FDCWD, path, arguments, sizeof(arguments));
    const char *hosted = size > 0 ? hosted_name(arguments, (size_t)size) : NULL;
    return hosted && is_asked_for(scope, hosted);
}

bool sn_scope_wants(const struct sn_scope *scope, uint32_t pid, const char *name)
{
    return scope->takes_all || sn_table_find(&scope->pids, pid) || is_asked_for(scope, name) ||
           is_hosted_and_asked_for(scope, pid, name);
}
