/* A diagnostics port at the edge of the process: a real socket, served by a thread of the test,
 * which makes the test itself the target. */
#ifndef IPC_FAKE_H
#define IPC_FAKE_H

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/loop.h"
#include "source/ipc/call.h"
#include "source/ipc/process.h"

struct fake;

/* What is done with one connection; it is closed afterwards. */
typedef void fake_script_fn(struct fake *fake, int fd);

struct fake {
    char directory[64];
    int listener;
    pthread_t thread;
    fake_script_fn *script;
    atomic_uint connections;
    void *user;
    struct sn_ipc_route route;
};

/* Reads one whole request; its command, or 0 when the peer left. */
static inline unsigned fake_read_request(int fd, uint8_t *bytes, size_t capacity)
{
    size_t size = 0;
    size_t whole = 20;
    while (size < whole) {
        ssize_t got = recv(fd, bytes + size, whole - size, 0);
        if (got <= 0)
            return 0;
        size += (size_t)got;
        if (size == 20)
            whole = (size_t)(bytes[14] | bytes[15] << 8);
        if (whole > capacity)
            return 0;
    }
    return (unsigned)(bytes[16] << 8 | bytes[17]);
}

static inline struct sn_buf fake_reply(bool is_error, const void *payload, size_t size)
{
    struct sn_buf message = sn_buf_with_limit(1u << 17);
    sn_buf_append(&message, "DOTNET_IPC_V1", 14);
    sn_buf_u16(&message, (uint16_t)(20 + size));
    sn_buf_u8(&message, 0xFF);
    sn_buf_u8(&message, is_error ? 0xFF : 0);
    sn_buf_u16(&message, 0);
    sn_buf_append(&message, payload, size);
    return message;
}

static inline void fake_send(int fd, const void *bytes, size_t size)
{
    (void)!send(fd, bytes, size, MSG_NOSIGNAL);
}

static inline void fake_answer(int fd, bool is_error, const void *payload, size_t size)
{
    struct sn_buf message = fake_reply(is_error, payload, size);
    fake_send(fd, message.bytes, message.size);
    sn_buf_done(&message);
}

static inline void fake_refuse(int fd, uint32_t hresult)
{
    fake_answer(fd, true, &hresult, sizeof(hresult));
}

/* Until the other side has closed. */
static inline void fake_await_close(int fd)
{
    uint8_t byte;
    while (recv(fd, &byte, 1, 0) > 0)
        continue;
}

static inline void *fake_serve(void *user)
{
    struct fake *fake = user;
    for (;;) {
        int fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        fake->connections++;
        fake->script(fake, fd);
        close(fd);
    }
}

static inline void fake_open(struct fake *fake, fake_script_fn *script)
{
    struct sn_ipc_process self;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct sn_ipc_target *target = &fake->route.target;
    memset(fake, 0, sizeof(*fake));
    fake->script = script;
    (void)snprintf(fake->directory, sizeof(fake->directory), "/tmp/sonde-fake-XXXXXX");
    assert_non_null(mkdtemp(fake->directory));
    assert_true(sn_ipc_process_open(getpid(), &self) && sn_ipc_process_read_status(&self));
    target->pid = self.pid;
    target->ns_pid = self.ns_pid;
    target->start_ticks = self.start_ticks;
    target->uid = self.uid;
    target->gid = self.gid;
    (void)snprintf(target->directory, sizeof(target->directory), "%s", fake->directory);
    (void)snprintf(target->socket_path, sizeof(target->socket_path),
                   "%s/dotnet-diagnostic-%d-%" PRIu64 "-socket", fake->directory, self.ns_pid,
                   self.start_ticks);
    sn_ipc_process_close(&self);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", target->socket_path);
    fake->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fake->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fake->listener, 64), 0);
    if (script)
        assert_int_equal(pthread_create(&fake->thread, NULL, fake_serve, fake), 0);
}

static inline void fake_close(struct fake *fake)
{
    (void)shutdown(fake->listener, SHUT_RDWR);
    if (fake->script)
        (void)pthread_join(fake->thread, NULL);
    close(fake->listener);
    (void)unlink(fake->route.target.socket_path);
    (void)rmdir(fake->directory);
}

static inline size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

#endif
