/* Places to listen at: TCP, and Unix sockets that only their owner reaches. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "net/http_parts.h"

#define BACKLOG 1024

/* What the kernel holds for one that reads slowly: it makes 256 KiB of it. */
#define SEND_BUFFER (128 << 10)

static int make_address(const char *path, struct sockaddr_un *address, struct sonde_error *err)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address->sun_path))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "the path of the socket %.150s is longer than %zu bytes: choose a shorter",
                       path, sizeof(address->sun_path) - 1);
    memcpy(address->sun_path, path, strlen(path) + 1);
    return SONDE_OK;
}

/* A socket file that nobody listens at is removed; anything else is in our way. */
static int make_way(const struct sockaddr_un *address, struct sonde_error *err)
{
    struct stat facts;
    if (lstat(address->sun_path, &facts) != 0)
        return errno == ENOENT ? SONDE_OK : sn_fail_errno(err, "cannot see %s", address->sun_path);
    if (!S_ISSOCK(facts.st_mode))
        return sn_fail(err, SONDE_E_BUSY, 0,
                       "%s is there and no socket: remove it or choose another place",
                       address->sun_path);
    SN_AUTO(sn_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return sn_fail_errno(err, "cannot make a socket");
    bool is_dead = connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
                   errno == ECONNREFUSED;
    if (!is_dead)
        return sn_fail(err, SONDE_E_BUSY, 0,
                       "another program, perhaps another sonde, listens at %s: choose another "
                       "place",
                       address->sun_path);
    if (unlink(address->sun_path) != 0 && errno != ENOENT)
        return sn_fail_errno(err, "cannot replace %s", address->sun_path);
    return SONDE_OK;
}

/* The mode is the socket's before there is a file: nobody comes in between. */
static int open_unix(const char *path, struct sn_http_spot *spot, int *ret_fd,
                     struct sonde_error *err)
{
    struct sockaddr_un address;
    struct stat facts;
    int rc = make_address(path, &address, err);
    if (rc == SONDE_OK)
        rc = make_way(&address, err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sn_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || fchmod(fd, 0600) != 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, BACKLOG) != 0)
        return sn_fail_errno(err, "cannot listen at %s", path);
    spot->is_unix = true;
    spot->unix_path = strdup(path);
    size_t size = strlen(path) + sizeof("unix:");
    spot->unix_url = malloc(size);
    if (!spot->unix_path || !spot->unix_url || lstat(path, &facts) != 0)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a server");
    (void)snprintf(spot->unix_url, size, "unix:%s", path);
    spot->unix_device = facts.st_dev;
    spot->unix_inode = facts.st_ino;
    *ret_fd = sn_take_fd(&fd);
    return SONDE_OK;
}

int sn_http_place_open(const struct sn_http_place *place, struct sn_http_spot *spot, int *ret_fd,
                       struct sonde_error *err)
{
    static const int send_buffer = SEND_BUFFER;
    char name[SN_LISTENER_NAME_SIZE] = "";
    spot->tag = place->tag;
    spot->is_tls = place->certificate;
    int rc = place->address ? sn_listener_open(place->address, ret_fd, name, err)
                            : open_unix(place->unix_path, spot, ret_fd, err);
    if (rc != SONDE_OK)
        return rc;
    (void)setsockopt(*ret_fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
    (void)snprintf(spot->url, sizeof(spot->url), "%s://%s", spot->is_tls ? "https" : "http", name);
    return SONDE_OK;
}

void sn_http_place_close(struct sn_http_spot *spot)
{
    struct stat facts;
    if (spot->unix_path && lstat(spot->unix_path, &facts) == 0 &&
        facts.st_dev == spot->unix_device && facts.st_ino == spot->unix_inode)
        (void)unlink(spot->unix_path);
    free(spot->unix_path);
    free(spot->unix_url);
}
