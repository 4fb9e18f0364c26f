/* Which process dotnet-trace collect is to trace. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

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

int sn_dotnet_find_by_name(const char *name, uint32_t *ret_pid)
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

int sn_dotnet_refuse_router(const char *router)
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

int sn_dotnet_find_by_socket(const char *path, uint32_t *ret_pid)
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
