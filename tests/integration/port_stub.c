/* Programs that speak the diagnostics port without being runtimes: integration_port_stub COUNT MODE
 * starts COUNT of them, prints a line "pid=N" for each, and ends them when its input ends.
 *
 *   quiet    answers, opens sessions, sends nothing
 *   silent   takes connections and never says a word
 *   garbage  opens sessions and fills them with noise
 *   flood    opens sessions and sends a stream that never ends, as fast as it is taken
 *   lies     answers every question with the wrong thing
 *   hangup   closes as soon as it is asked
 *   drip     opens sessions and sends a byte now and then
 *   logs     opens sessions and sends three log messages: one, one that is larger than any runtime
 *            would send, and one more */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/log_stream.h"

#define CHILDREN_MAX 512
#define CLIENTS_MAX  32
#define HEADER_SIZE  20u

enum mode { QUIET, SILENT, GARBAGE, FLOOD, LIES, HANGUP, DRIP, LOGS, MODES };
static const char *const mode_names[] = {"quiet", "silent", "garbage", "flood",
                                         "lies",  "hangup", "drip",    "logs"};

/* --- messages --- */

struct message {
    uint8_t bytes[1024];
    size_t size;
};

static void put(struct message *message, const void *bytes, size_t size)
{
    memcpy(message->bytes + message->size, bytes, size);
    message->size += size;
}

static void put_text(struct message *message, const char *text)
{
    uint32_t units = (uint32_t)strlen(text) + 1;
    put(message, &units, sizeof(units));
    for (uint32_t i = 0; i < units; i++)
        put(message, (uint8_t[]){(uint8_t)text[i], 0}, 2);
}

static void begin_reply(struct message *message, bool is_error)
{
    message->size = 0;
    put(message, "DOTNET_IPC_V1", 14);
    put(message, (uint8_t[]){0, 0, 0xFF, is_error ? 0xFF : 0, 0, 0}, 6);
}

static void send_reply(int fd, struct message *message)
{
    message->bytes[14] = (uint8_t)message->size;
    message->bytes[15] = (uint8_t)(message->size >> 8);
    (void)!send(fd, message->bytes, message->size, MSG_NOSIGNAL);
}

static void refuse(int fd)
{
    struct message message;
    uint32_t unknown_command = 0x80131385u;
    begin_reply(&message, true);
    put(&message, &unknown_command, sizeof(unknown_command));
    send_reply(fd, &message);
}

static void tell_who(int fd)
{
    struct message message;
    uint64_t pid = (uint64_t)getpid();
    uint8_t cookie[16] = {1, 2, 3};
    memcpy(cookie + 8, &pid, sizeof(pid));
    begin_reply(&message, false);
    put(&message, &pid, sizeof(pid));
    put(&message, cookie, sizeof(cookie));
    put_text(&message, "stub --password hunter2");
    put_text(&message, "Linux");
    put_text(&message, "x64");
    put_text(&message, "stub");
    put_text(&message, "10.0.0");
    send_reply(fd, &message);
}

static void open_session(int fd)
{
    struct message message;
    uint64_t session = 1;
    begin_reply(&message, false);
    put(&message, &session, sizeof(session));
    send_reply(fd, &message);
}

static void lie(int fd)
{
    struct message message;
    uint32_t huge = 0x7FFFFFFF;
    begin_reply(&message, false);
    for (int i = 0; i < 40; i++)
        put(&message, &huge, sizeof(huge));
    send_reply(fd, &message);
}

/* --- a port --- */

struct client {
    int fd;
    bool is_session;
    size_t sent; /* of the log */
};

struct port {
    enum mode mode;
    int listener;
    struct client clients[CLIENTS_MAX];
    int client_count;
    unsigned noise;
    struct log_stream log;
};

static unsigned read_command(int fd)
{
    uint8_t bytes[65536];
    size_t size = 0;
    size_t whole = HEADER_SIZE;
    while (size < whole) {
        ssize_t got = recv(fd, bytes + size, whole - size, 0);
        if (got <= 0)
            return 0;
        size += (size_t)got;
        if (size == HEADER_SIZE)
            whole = (size_t)(bytes[14] | bytes[15] << 8);
        if (whole < HEADER_SIZE)
            return 0;
    }
    return (unsigned)(bytes[16] << 8 | bytes[17]);
}

/* False: it is over with this client. */
static bool answer(struct port *port, struct client *client)
{
    unsigned command = read_command(client->fd);
    if (!command || port->mode == HANGUP)
        return false;
    if (port->mode == LIES) {
        lie(client->fd);
    } else if (command == 0x0404) {
        tell_who(client->fd);
    } else if (command >= 0x0202 && command <= 0x0206) {
        open_session(client->fd);
        client->is_session = true;
        return true;
    } else if (command == 0x0201) {
        open_session(client->fd);
    } else {
        refuse(client->fd);
    }
    return false;
}

static void make_log(struct log_stream *log)
{
    log_stream_begin(log);
    log_stream_add(log, "the first", "{}");
    log_stream_add_large(log, 700000); /* stands in the JSON of a message twice: over 1 MB */
    log_stream_add(log, "the last", "{}");
    log_stream_flush(log);
    if (log->has_failed)
        _exit(1);
}

/* The log once, then nothing. */
static bool feed_log(struct port *port, struct client *client)
{
    ssize_t sent = send(client->fd, port->log.bytes.bytes + client->sent,
                        port->log.bytes.size - client->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    client->sent += sent > 0 ? (size_t)sent : 0;
    return sent >= 0;
}

static bool feeds(const struct port *port, const struct client *client)
{
    bool has_more = port->mode == GARBAGE || port->mode == FLOOD || port->mode == DRIP ||
                    (port->mode == LOGS && client->sent < port->log.bytes.size);
    return client->is_session && has_more;
}

/* What goes into a session at a time. False: nobody takes it any more. */
static bool feed(struct port *port, struct client *client)
{
    int fd = client->fd;
    static uint8_t bytes[65536];
    ssize_t sent = 0;
    if (port->mode == LOGS)
        return feed_log(port, client);
    if (port->mode == FLOOD) {
        memcpy(bytes, "Nettrace\x14\0\0\0!FastSerialization.1", 32);
        sent = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
    } else if (port->mode == GARBAGE) {
        for (size_t i = 0; i < 4096; i++) {
            port->noise = port->noise * 1103515245u + 12345u;
            bytes[i] = (uint8_t)(port->noise >> 16);
        }
        sent = send(fd, bytes, 4096, MSG_NOSIGNAL | MSG_DONTWAIT);
    } else if (port->mode == DRIP) {
        sent = send(fd, "N", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return sent >= 0;
}

static void drop(struct port *port, int index)
{
    close(port->clients[index].fd);
    port->clients[index] = port->clients[--port->client_count];
}

static void serve_client(struct port *port, int index, short ready)
{
    struct client *client = &port->clients[index];
    uint8_t byte;
    if (port->mode == SILENT)
        return;
    if (!client->is_session) {
        if ((ready & (POLLIN | POLLHUP)) && !answer(port, client))
            drop(port, index);
        return;
    }
    bool has_left =
        (ready & (POLLIN | POLLHUP)) && recv(client->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) <= 0;
    if (has_left || ((ready & POLLOUT) && !feed(port, client)))
        drop(port, index);
}

static void serve(struct port *port)
{
    for (;;) {
        struct pollfd polled[CLIENTS_MAX + 1];
        int count = port->client_count;
        for (int i = 0; i < count; i++)
            polled[i] = (struct pollfd){
                .fd = port->clients[i].fd,
                .events = (short)(POLLIN | (feeds(port, &port->clients[i]) ? POLLOUT : 0))};
        polled[count] = (struct pollfd){.fd = port->listener, .events = POLLIN};
        if (port->mode == DRIP)
            usleep(100000);
        if (port->mode == SILENT)
            usleep(20000);
        (void)poll(polled, (nfds_t)count + 1, 1000);
        for (int i = count - 1; i >= 0; i--) {
            if (polled[i].revents)
                serve_client(port, i, polled[i].revents);
        }
        if ((polled[count].revents & POLLIN) && port->client_count < CLIENTS_MAX) {
            int fd = accept(port->listener, NULL, NULL);
            if (fd >= 0)
                port->clients[port->client_count++] = (struct client){.fd = fd};
        }
    }
}

/* --- processes --- */

/* In ticks since the machine's: the 22nd of /proc/self/stat. */
static uint64_t start_ticks(void)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "r");
    size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    text[size] = 0;
    if (file)
        fclose(file);
    char *at = strrchr(text, ')');
    for (int i = 0; at && i < 20; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static int open_port(char path[108])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *folder = getenv("TMPDIR");
    (void)snprintf(path, 108, "%s/dotnet-diagnostic-%d-%" PRIu64 "-socket",
                   folder ? folder : "/tmp", getpid(), start_ticks());
    memcpy(address.sun_path, path, 108);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, 64) != 0) {
        perror(path);
        _exit(1);
    }
    return listener;
}

/* No runtime is alone in its process, and sonde knows. */
static void *wait_for_ever(void *user)
{
    for (;;)
        pause();
    return user;
}

static void run_child(enum mode mode, int ready)
{
    char path[108];
    struct port port = {.mode = mode, .noise = (unsigned)getpid()};
    pthread_t other;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)pthread_create(&other, NULL, wait_for_ever, NULL);
    if (mode == LOGS)
        make_log(&port.log);
    port.listener = open_port(path);
    (void)!write(ready, path, sizeof(path));
    serve(&port);
}

int main(int argc, char **argv)
{
    static char paths[CHILDREN_MAX][108];
    static pid_t children[CHILDREN_MAX];
    int count = argc == 3 ? atoi(argv[1]) : 0;
    int mode = 0;
    while (argc == 3 && mode < MODES && strcmp(mode_names[mode], argv[2]) != 0)
        mode++;
    if (count < 1 || count > CHILDREN_MAX || mode == MODES)
        return 2;
    for (int i = 0; i < count; i++) {
        int ready[2];
        if (pipe(ready) != 0)
            return 1;
        children[i] = fork();
        if (children[i] == 0)
            run_child((enum mode)mode, ready[1]);
        close(ready[1]);
        (void)!read(ready[0], paths[i], sizeof(paths[i]));
        close(ready[0]);
        printf("pid=%d\n", children[i]);
    }
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0)
        continue;
    for (int i = 0; i < count; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
        unlink(paths[i]);
    }
    return 0;
}
