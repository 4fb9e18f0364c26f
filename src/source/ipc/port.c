#include "source/ipc/port.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "source/ipc/call.h"
#include "source/ipc/process.h"

#define MAGIC            "ADVR_V1" /* its zero belongs to it */
#define MOST_ARRIVALS    64u
#define MOST_RUNTIMES    256u
#define ARRIVAL_NS       (2ull * SN_NS_PER_SECOND) /* to say who it is */
#define WAIT_STEP_MS     10
#define QUEUE_LENGTH     64
#define LONGEST_LOCATION sizeof(((struct sockaddr_un *)NULL)->sun_path)

/* A connection whose advertisement is not complete yet. */
struct arrival {
    int fd; /* owns; -1: free */
    uint8_t bytes[SN_IPC_ADVERTISEMENT_SIZE];
    size_t size;
    uint64_t deadline_ns;
    struct sn_watch watch;
};

struct runtime {
    struct sn_ipc_guid cookie;
    struct sn_ipc_target target;
    int fd; /* owns the connection that waits for a command; -1: none at the moment */
    bool is_claimed;
};

struct sn_ipc_port {
    char path[LONGEST_LOCATION];
    char private_directory[LONGEST_LOCATION]; /* "" when the path was given */
    int listener;
    struct arrival arrivals[MOST_ARRIVALS];
    struct runtime runtimes[MOST_RUNTIMES];
    size_t runtime_count;
    bool is_shared; /* the socket is not ours to remove */

    struct sn_loop *loop; /* borrows; NULL: served only from within the port's functions */
    struct sn_watch watch;
    struct sn_timer overdue;
    sn_ipc_arrived_fn *arrived;
    void *user;
};

int sn_ipc_decode_advertisement(const void *bytes, size_t size, struct sn_ipc_advertisement *ret,
                                struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    const uint8_t *magic = sn_cursor_bytes(&cur, sizeof(MAGIC));
    const uint8_t *cookie = sn_cursor_bytes(&cur, sizeof(ret->cookie.bytes));
    uint64_t pid = sn_cursor_u64(&cur);
    uint16_t reserved = sn_cursor_u16(&cur);

    if (cur.bad)
        return sn_fail(err, SONDE_E_TRUNCATED, size, "the advertisement ends early");
    if (memcmp(magic, MAGIC, sizeof(MAGIC)) != 0)
        return sn_fail(err, SONDE_E_FORMAT, 0, "the advertisement does not begin with the magic");
    if (!pid || pid > INT_MAX || reserved || sn_cursor_left(&cur))
        return sn_fail(err, SONDE_E_FORMAT, 24, "the advertisement is malformed");
    ret->ns_pid = pid;
    memcpy(ret->cookie.bytes, cookie, sizeof(ret->cookie.bytes));
    return SONDE_OK;
}

static void drop_arrival(struct arrival *arrival)
{
    sn_loop_unwatch(&arrival->watch);
    sn_close(sn_take_fd(&arrival->fd));
}

static bool is_alive(const struct sn_ipc_target *target)
{
    SN_AUTO(sn_ipc_process_close) struct sn_ipc_process process = {.dir = -1};
    return sn_ipc_process_open(target->pid, &process) &&
           process.start_ticks == target->start_ticks && !sn_ipc_process_is_dead(&process);
}

static struct runtime *find_runtime(struct sn_ipc_port *port, const struct sn_ipc_guid *cookie)
{
    for (size_t i = 0; i < port->runtime_count; i++) {
        if (sn_ipc_guid_is_equal(&port->runtimes[i].cookie, cookie))
            return &port->runtimes[i];
    }
    return NULL;
}

static void forget_dead_runtimes(struct sn_ipc_port *port)
{
    size_t kept = 0;
    for (size_t i = 0; i < port->runtime_count; i++) {
        if (is_alive(&port->runtimes[i].target))
            port->runtimes[kept++] = port->runtimes[i];
        else
            sn_close(port->runtimes[i].fd);
    }
    port->runtime_count = kept;
}

/* Who it is by the kernel's word; its own word about its pid must agree. */
static bool identify(int fd, const struct sn_ipc_advertisement *said, struct sn_ipc_target *target)
{
    struct ucred peer = {0};
    socklen_t size = sizeof(peer);
    SN_AUTO(sn_ipc_process_close) struct sn_ipc_process process = {.dir = -1};
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0 ||
        !sn_ipc_process_open(peer.pid, &process) || !sn_ipc_process_read_status(&process))
        return false;
    if (process.ns_pid != (int)said->ns_pid)
        return false;
    *target = (struct sn_ipc_target){
        .pid = peer.pid,
        .ns_pid = process.ns_pid,
        .start_ticks = process.start_ticks,
        .uid = process.uid,
        .gid = process.gid,
        .state = process.state,
    };
    memcpy(target->comm, process.comm, sizeof(target->comm));
    return true;
}

static void welcome(struct sn_ipc_port *port, int fd, const struct sn_ipc_advertisement *said)
{
    struct sn_ipc_target target;
    if (!identify(fd, said, &target)) {
        sn_close(fd);
        return;
    }
    struct runtime *runtime = find_runtime(port, &said->cookie);
    bool is_known = runtime && runtime->target.pid == target.pid &&
                    runtime->target.start_ticks == target.start_ticks;
    if (is_known) {
        sn_close(runtime->fd);
        runtime->fd = fd;
        return;
    }
    if (!runtime && port->runtime_count == MOST_RUNTIMES)
        forget_dead_runtimes(port);
    if (runtime || port->runtime_count == MOST_RUNTIMES) {
        sn_close(fd); /* another process with this cookie, or no room */
        return;
    }
    port->runtimes[port->runtime_count++] =
        (struct runtime){.cookie = said->cookie, .target = target, .fd = fd};
    if (port->arrived)
        port->arrived(port->user, &target, &said->cookie);
}

static void read_arrival(struct sn_ipc_port *port, struct arrival *arrival)
{
    ssize_t got = recv(arrival->fd, arrival->bytes + arrival->size,
                       sizeof(arrival->bytes) - arrival->size, MSG_DONTWAIT);
    bool waits = got < 0 && (errno == EAGAIN || errno == EINTR);
    if (waits && sn_clock_monotonic_ns() < arrival->deadline_ns)
        return;
    if (got <= 0) {
        drop_arrival(arrival);
        return;
    }
    arrival->size += (size_t)got;
    if (arrival->size < sizeof(arrival->bytes))
        return;
    struct sn_ipc_advertisement said = {0};
    if (sn_ipc_decode_advertisement(arrival->bytes, arrival->size, &said, NULL) != SONDE_OK) {
        drop_arrival(arrival);
        return;
    }
    sn_loop_unwatch(&arrival->watch);
    welcome(port, sn_take_fd(&arrival->fd), &said);
}

static struct arrival *free_arrival(struct sn_ipc_port *port)
{
    for (size_t i = 0; i < MOST_ARRIVALS; i++) {
        if (port->arrivals[i].fd < 0)
            return &port->arrivals[i];
    }
    return NULL;
}

static void watch_arrival(struct sn_ipc_port *port, struct arrival *arrival)
{
    if (!port->loop || arrival->watch.loop)
        return;
    if (sn_loop_watch(port->loop, &arrival->watch, EPOLLIN, NULL) != SONDE_OK) {
        drop_arrival(arrival); /* the runtime will try again */
        return;
    }
    if (!port->overdue.loop)
        sn_loop_timer(port->loop, &port->overdue, arrival->deadline_ns);
}

static void accept_one(struct sn_ipc_port *port, int fd)
{
    struct arrival *arrival = free_arrival(port);
    if (!arrival) {
        sn_close(fd); /* the runtime will try again */
        return;
    }
    arrival->fd = fd;
    arrival->size = 0;
    arrival->deadline_ns = sn_clock_deadline(ARRIVAL_NS);
    arrival->watch.fd = fd;
    read_arrival(port, arrival);
    if (arrival->fd == fd) /* has more to say; a callback may have given its place away */
        watch_arrival(port, arrival);
}

/* Takes in whoever has connected and reads whatever they have said, without waiting. */
static void serve(struct sn_ipc_port *port)
{
    for (size_t i = 0; i < MOST_ARRIVALS; i++) {
        if (port->arrivals[i].fd >= 0)
            read_arrival(port, &port->arrivals[i]);
    }
    while (port->listener >= 0) {
        int fd = accept4(port->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return; /* nobody more; or no descriptors, then they wait in the queue */
        accept_one(port, fd);
    }
}

static void serve_watch(struct sn_watch *watch, uint32_t events)
{
    (void)events; /* what can be done is found out by doing it */
    serve(watch->user);
}

static void serve_overdue(struct sn_timer *timer)
{
    struct sn_ipc_port *port = timer->user;
    uint64_t soonest = UINT64_MAX;
    serve(port);
    for (size_t i = 0; i < MOST_ARRIVALS; i++) {
        if (port->arrivals[i].fd >= 0 && port->arrivals[i].deadline_ns < soonest)
            soonest = port->arrivals[i].deadline_ns;
    }
    if (soonest != UINT64_MAX)
        sn_loop_timer(port->loop, timer, soonest);
}

/* Removes a socket that we left behind; anything else that is in the way stays. */
static int make_way(const struct sockaddr_un *address, struct sonde_error *err)
{
    struct stat stat;
    if (lstat(address->sun_path, &stat) != 0)
        return SONDE_OK; /* bind will say what is wrong, if anything */
    if (!S_ISSOCK(stat.st_mode) || stat.st_uid != geteuid())
        return sn_fail(err, SONDE_E_BUSY, 0, "'%s' is there and is not a socket of ours",
                       address->sun_path);
    SN_AUTO(sn_close) int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return sn_fail_errno(err, "cannot create a socket");
    if (connect(probe, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
        errno != ECONNREFUSED)
        return sn_fail(err, SONDE_E_BUSY, 0, "somebody listens on '%s'", address->sun_path);
    if (unlink(address->sun_path) != 0)
        return sn_fail_errno(err, "cannot remove '%s'", address->sun_path);
    return SONDE_OK;
}

static int listen_on(struct sn_ipc_port *port, struct sonde_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, port->path, sizeof(address.sun_path));
    int rc = make_way(&address, err);
    if (rc != SONDE_OK)
        return rc;
    port->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (port->listener < 0)
        return sn_fail_errno(err, "cannot create a socket");
    /* Before bind: the file then has this mode from the start, whatever the umask. */
    if (fchmod(port->listener, S_IRUSR | S_IWUSR) != 0 ||
        bind(port->listener, (const struct sockaddr *)&address, sizeof(address)) != 0)
        return sn_fail_errno(err, "cannot listen on '%s'", port->path);
    if (listen(port->listener, QUEUE_LENGTH) != 0) {
        (void)unlink(port->path); /* the failure to listen is the one to report */
        return sn_fail_errno(err, "cannot listen on '%s'", port->path);
    }
    return SONDE_OK;
}

/* A directory only we can enter, where paths are short. */
static int make_private_path(struct sn_ipc_port *port, struct sonde_error *err)
{
    const char *bases[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
        char made[LONGEST_LOCATION - sizeof("/port")];
        if (!bases[i] || bases[i][0] != '/' || strpbrk(bases[i], ",;"))
            continue;
        int length = snprintf(made, sizeof(made), "%s/sonde-XXXXXX", bases[i]);
        if (length < 0 || (size_t)length >= sizeof(made) || !mkdtemp(made))
            continue;
        (void)snprintf(port->private_directory, sizeof(port->private_directory), "%s", made);
        (void)snprintf(port->path, sizeof(port->path), "%s/port", made);
        return SONDE_OK;
    }
    return sn_fail_errno(err, "cannot make a directory for a diagnostics port");
}

static int set_path(struct sn_ipc_port *port, const char *path, struct sonde_error *err)
{
    if (!path)
        return make_private_path(port, err);
    if (path[0] != '/' || strpbrk(path, ",;"))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "port path '%.200s' must be absolute, without ',' and ';'", path);
    if (strlen(path) >= sizeof(port->path))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "port path '%.200s' is over %zu bytes", path,
                       sizeof(port->path) - 1);
    (void)snprintf(port->path, sizeof(port->path), "%s", path);
    return SONDE_OK;
}

int sn_ipc_port_new(const char *path, struct sn_ipc_port **ret_port, struct sonde_error *err)
{
    struct sn_ipc_port *port = calloc(1, sizeof(*port));
    if (!port)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a diagnostics port");
    port->listener = -1;
    port->watch = (struct sn_watch){.fd = -1, .ready = serve_watch, .user = port};
    port->overdue = (struct sn_timer){.expired = serve_overdue, .user = port};
    for (size_t i = 0; i < MOST_ARRIVALS; i++)
        port->arrivals[i] = (struct arrival){.fd = -1, .watch = port->watch};

    int rc = set_path(port, path, err);
    if (rc == SONDE_OK)
        rc = listen_on(port, err);
    if (rc != SONDE_OK) {
        sn_close(sn_take_fd(&port->listener)); /* what is at the path is then not ours */
        sn_ipc_port_free(port);
        return rc;
    }
    *ret_port = port;
    return SONDE_OK;
}

void sn_ipc_port_free(struct sn_ipc_port *port)
{
    if (!port)
        return;
    sn_loop_unwatch(&port->watch);
    sn_loop_untimer(&port->overdue);
    for (size_t i = 0; i < MOST_ARRIVALS; i++)
        drop_arrival(&port->arrivals[i]);
    for (size_t i = 0; i < port->runtime_count; i++)
        sn_close(port->runtimes[i].fd);
    /* What cannot be removed now is replaced or left lying; nobody listens there. */
    if (port->listener >= 0 && !port->is_shared)
        (void)unlink(port->path);
    if (port->private_directory[0] && !port->is_shared)
        (void)rmdir(port->private_directory);
    sn_close(port->listener);
    free(port);
}

void sn_ipc_port_share(struct sn_ipc_port *port)
{
    port->is_shared = true;
}

int sn_ipc_port_admit_all(struct sn_ipc_port *port, struct sonde_error *err)
{
    if ((port->private_directory[0] && chmod(port->private_directory, 0711) != 0) ||
        chmod(port->path, 0666) != 0)
        return sn_fail_errno(err, "cannot open '%s' to others", port->path);
    return SONDE_OK;
}

void sn_ipc_port_close(struct sn_ipc_port *port)
{
    sn_loop_unwatch(&port->watch);
    for (size_t i = 0; i < MOST_ARRIVALS; i++)
        drop_arrival(&port->arrivals[i]);
    sn_close(sn_take_fd(&port->listener));
}

int sn_ipc_port_fd(const struct sn_ipc_port *port)
{
    return port->listener;
}

const char *sn_ipc_port_path(const struct sn_ipc_port *port)
{
    return port->path;
}

const char *sn_ipc_port_setting(const struct sn_ipc_port *port, bool suspend, char *to, size_t size)
{
    (void)snprintf(to, size, "%s,%s", port->path, suspend ? "suspend" : "nosuspend");
    return to;
}

static struct runtime *find_unclaimed(struct sn_ipc_port *port, int pid)
{
    for (size_t i = 0; i < port->runtime_count; i++) {
        struct runtime *runtime = &port->runtimes[i];
        if (!runtime->is_claimed && (!pid || runtime->target.pid == pid))
            return runtime;
    }
    return NULL;
}

/* Those that came before anybody watched are waiting as well. */
static void announce_unclaimed(struct sn_ipc_port *port)
{
    for (struct runtime *runtime = find_unclaimed(port, 0); runtime;
         runtime = find_unclaimed(port, 0)) {
        runtime->is_claimed = true;
        struct sn_ipc_target target = runtime->target; /* the list may grow meanwhile */
        struct sn_ipc_guid cookie = runtime->cookie;
        port->arrived(port->user, &target, &cookie);
    }
}

int sn_ipc_port_watch(struct sn_ipc_port *port, struct sn_loop *loop, sn_ipc_arrived_fn *arrived,
                      void *user, struct sonde_error *err)
{
    port->loop = loop;
    port->arrived = arrived;
    port->user = user;
    port->watch.fd = port->listener;
    for (size_t i = 0; i < MOST_ARRIVALS; i++) {
        if (port->arrivals[i].fd >= 0)
            watch_arrival(port, &port->arrivals[i]);
    }
    int rc = sn_loop_watch(loop, &port->watch, EPOLLIN, err);
    if (rc == SONDE_OK && arrived)
        announce_unclaimed(port);
    return rc;
}

struct sn_ipc_route sn_ipc_port_route(struct sn_ipc_port *port, const struct sn_ipc_target *target,
                                      const struct sn_ipc_guid *cookie)
{
    return (struct sn_ipc_route){.target = *target, .port = port, .cookie = *cookie};
}

static bool has_ended(int pid)
{
    SN_AUTO(sn_ipc_process_close) struct sn_ipc_process process = {.dir = -1};
    return !sn_ipc_process_open(pid, &process) || sn_ipc_process_is_dead(&process);
}

int sn_ipc_port_wait(struct sn_ipc_port *port, int pid, uint64_t timeout_ns,
                     struct sn_ipc_route *ret_route, struct sonde_error *err)
{
    uint64_t deadline = sn_clock_deadline(timeout_ns);
    for (;;) {
        serve(port);
        struct runtime *runtime = find_unclaimed(port, pid);
        if (runtime) {
            runtime->is_claimed = true;
            *ret_route = sn_ipc_port_route(port, &runtime->target, &runtime->cookie);
            return SONDE_OK;
        }
        if (pid && has_ended(pid))
            return sn_fail(err, SONDE_E_GONE, 0,
                           "pid %d ended before a .NET runtime in it had started", pid);
        int left = sn_clock_poll_ms(deadline);
        if (left == 0)
            return sn_fail(err, SONDE_E_TIMEOUT, 0, "no .NET runtime has connected to '%s'",
                           port->path);
        struct pollfd waiting = {.fd = port->listener, .events = POLLIN};
        /* In steps, as a connection that is half read or a process that ends does not wake us. */
        (void)poll(&waiting, 1, left < 0 || left > WAIT_STEP_MS ? WAIT_STEP_MS : left);
    }
}

static bool is_closed(int fd)
{
    uint8_t byte;
    return recv(fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

int sn_ipc_port_take(struct sn_ipc_port *port, const struct sn_ipc_guid *cookie, int *ret_fd,
                     struct sonde_error *err)
{
    serve(port);
    struct runtime *runtime = find_runtime(port, cookie);
    if (!runtime)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "no such runtime has connected to '%s'",
                       port->path);
    if (runtime->fd >= 0 && is_closed(runtime->fd))
        sn_close(sn_take_fd(&runtime->fd));
    if (runtime->fd >= 0) {
        *ret_fd = sn_take_fd(&runtime->fd);
        return SONDE_OK;
    }
    if (!is_alive(&runtime->target))
        return sn_fail(err, SONDE_E_GONE, 0, "pid %d has ended", runtime->target.pid);
    return SONDE_AGAIN;
}
