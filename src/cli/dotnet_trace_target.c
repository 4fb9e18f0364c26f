/* Which process a tool of .NET is to trace or watch. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/dotnet_trace.h"
#include "sonde/process.h"

static bool is_called(const struct sonde_process *process, const char *name)
{
    struct sn_dotnet_process found;
    sn_dotnet_process_read(process->pid, &found);
    return strcmp(found.name, name) == 0;
}

/* By the kernel's name, as dotnet-trace does; else by the entry assembly's, as it does not. */
static int find_by_name(const char *name, uint32_t *ret_pid)
{
    struct sonde_process_list *list = NULL;
    struct sonde_error err = {0};
    size_t found = 0;
    if (sonde_process_list_new(&list, &err) != SONDE_OK)
        return sn_dotnet_fail(SN_DOTNET_UNKNOWN, "%s", err.text);
    for (int round = 0; round < 2 && !found; round++) {
        for (size_t i = 0; i < sonde_process_list_count(list); i++) {
            const struct sonde_process *process = sonde_process_list_get(list, i);
            if (!process->is_reachable ||
                (round ? strcmp(process->name, name) != 0 : !is_called(process, name)))
                continue;
            *ret_pid = process->pid;
            found++;
        }
    }
    sonde_process_list_free(list);
    if (found == 1)
        return SN_DOTNET_OK;
    return sn_dotnet_fail(SN_DOTNET_ARGUMENT,
                          found ? "There are more than one active processes with the given name: %s"
                                : "There is no active process with the given name: %s",
                          name);
}

/* --dsrouter: not offered, or not even known to dotnet-trace. */
static int refuse_router(const char *router)
{
    static const char *const known[] = {"ios", "ios-sim", "android", "android-emu"};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strcmp(known[i], router) == 0)
            return sn_dotnet_fail(SN_DOTNET_TRACING,
                                  "--dsrouter is not offered by sonde: start dotnet-dsrouter "
                                  "yourself and give its pid with -p.");
    }
    return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "--dsrouter takes ios, ios-sim, android or "
                                              "android-emu.");
}

/* Who listens at a socket. */
static int find_by_socket(const char *path, uint32_t *ret_pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    static const struct timeval patience = {.tv_sec = 5};
    struct ucred peer;
    socklen_t size = sizeof(peer);
    SN_AUTO(sn_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (strlen(path) >= sizeof(address.sun_path))
        return sn_dotnet_fail(SN_DOTNET_TRACING, "The path of the port is too long: %s", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    /* one who does not accept keeps connect waiting, and this is what limits it */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
        return sn_dotnet_fail(SN_DOTNET_TRACING, "Unable to connect to '%s': %s", path,
                              strerror(errno));
    *ret_pid = (uint32_t)peer.pid;
    return SN_DOTNET_OK;
}

int sn_dotnet_resolve_port(const char *port, struct sn_buf *path, uint32_t *ret_pid)
{
    const char *comma = strrchr(port, ',');
    SN_AUTO(sn_free) char *given = strndup(port, comma ? (size_t)(comma - port) : strlen(port));
    sn_dotnet_full_path(path, given ? given : "");
    if (comma && strcmp(comma + 1, "connect") == 0)
        return find_by_socket(sn_buf_string(path), ret_pid);
    if (comma && strcmp(comma + 1, "listen") != 0)
        return sn_dotnet_fail(SN_DOTNET_TRACING, "A port ends with ',connect' or ',listen': %s",
                              port);
    return SN_DOTNET_OK;
}

static bool has(const char *text)
{
    return text && *text;
}

/* Checks that the process is named in one way only. */
static int check_attach(const struct sn_dotnet_attach *attach)
{
    int ways = (attach->pid != 0) + has(attach->name) + has(attach->port) + has(attach->router);
    if (ways == 0)
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "Must specify either --process-id, --name, "
                                                  "--diagnostic-port, or --dsrouter.");
    if (attach->pid < 0)
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "%" PRId32 " is not a valid process ID",
                              attach->pid);
    if (ways > 1)
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "Only one of the --name, --process-id, "
                                                  "--diagnostic-port, or --dsrouter options may be "
                                                  "specified.");
    return has(attach->router) ? refuse_router(attach->router) : SN_DOTNET_OK;
}

int sn_dotnet_attach(const struct sn_dotnet_attach *attach, bool has_child, uint32_t *ret_pid)
{
    *ret_pid = 0;
    if (has_child) {
        if (attach->pid || attach->name || has(attach->port))
            return sn_dotnet_fail(SN_DOTNET_ARGUMENT,
                                  "None of the --name, --process-id, or --diagnostic-port options "
                                  "may be specified when launching a child process.");
        return SN_DOTNET_OK;
    }
    int code = check_attach(attach);
    *ret_pid = (uint32_t)attach->pid;
    if (code == SN_DOTNET_OK && has(attach->name))
        code = find_by_name(attach->name, ret_pid);
    return code;
}
