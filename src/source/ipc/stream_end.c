#include "source/ipc/stream_end.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/folder.h"
#include "base/own.h"

#define ANSWER_SIZE 1024u
#define ANY_COOKIE  UINT64_MAX

/* What the kernel says of one socket. */
struct answer {
    struct sn_stream_end end;
    uint32_t peer_inode; /* 0: nobody has the other end */
    bool is_connected;   /* or was */
};

struct question {
    struct nlmsghdr header;
    struct unix_diag_req request;
};

/* The attributes behind the fixed part, each padded to four bytes. */
static void read_attributes(struct sn_cursor *cur, struct answer *answer)
{
    while (sn_cursor_left(cur) >= sizeof(struct rtattr)) {
        uint16_t size = sn_cursor_u16(cur);
        uint16_t type = sn_cursor_u16(cur);
        if (size < sizeof(struct rtattr))
            return;
        struct sn_cursor value = sn_cursor_over(cur->at, sn_cursor_left(cur));
        if (type == UNIX_DIAG_PEER) {
            answer->peer_inode = sn_cursor_u32(&value);
            answer->is_connected = !value.bad;
        }
        sn_cursor_skip(cur, (size - sizeof(struct rtattr) + 3u) & ~3u);
    }
}

/* 0, or a negative errno. */
static int read_answer(const uint8_t *bytes, size_t size, struct answer *ret_answer)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    uint32_t length = sn_cursor_u32(&cur);
    uint16_t type = sn_cursor_u16(&cur);
    sn_cursor_skip(&cur, sizeof(struct nlmsghdr) - 6);
    if (cur.bad || length > size)
        return -EPROTO;
    if (type == NLMSG_ERROR) {
        int error = (int)sn_cursor_u32(&cur);
        return !cur.bad && error < 0 ? error : -EPROTO;
    }
    *ret_answer = (struct answer){0};
    sn_cursor_skip(&cur, 4); /* family, type, state */
    ret_answer->end.inode = sn_cursor_u32(&cur);
    ret_answer->end.cookie = sn_cursor_u32(&cur);
    ret_answer->end.cookie |= (uint64_t)sn_cursor_u32(&cur) << 32;
    if (cur.bad || type != SOCK_DIAG_BY_FAMILY)
        return -EPROTO;
    read_attributes(&cur, ret_answer);
    return 0;
}

/* 0, -ENOENT where there is no such socket, or another negative errno. The kernel answers before
 * the question's send returns. */
static int ask_kernel(uint32_t inode, uint64_t cookie, struct answer *ret_answer)
{
    SN_AUTO(sn_close) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    struct question question = {
        .header = {.nlmsg_len = sizeof(question),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = UINT32_MAX,
                    .udiag_ino = inode,
                    .udiag_show = UDIAG_SHOW_PEER,
                    .udiag_cookie = {(uint32_t)cookie, (uint32_t)(cookie >> 32)}},
    };
    uint8_t bytes[ANSWER_SIZE];
    if (fd < 0 || send(fd, &question, sizeof(question), 0) != (ssize_t)sizeof(question))
        return -EPROTO;
    ssize_t size = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    return size > 0 ? read_answer(bytes, (size_t)size, ret_answer) : -EPROTO;
}

bool sn_stream_end_of(int fd, struct sn_stream_end *ret_end)
{
    struct stat own;
    struct answer ours;
    struct answer theirs;
    if (fstat(fd, &own) != 0 || ask_kernel((uint32_t)own.st_ino, ANY_COOKIE, &ours) != 0 ||
        !ours.peer_inode || ask_kernel(ours.peer_inode, ANY_COOKIE, &theirs) != 0 ||
        theirs.peer_inode != (uint32_t)own.st_ino)
        return false;
    *ret_end = theirs.end;
    return true;
}

enum sn_stream_state sn_stream_end_state(const struct sn_stream_end *end)
{
    struct answer answer;
    int rc = ask_kernel(end->inode, end->cookie, &answer);
    if (rc == -ENOENT || rc == -ESTALE)
        return SN_STREAM_CLOSED;
    if (rc != 0 || !answer.is_connected)
        return SN_STREAM_UNKNOWN;
    return answer.peer_inode ? SN_STREAM_HELD : SN_STREAM_ALONE;
}

bool sn_stream_end_is_of(const struct sn_stream_end *end, int pid)
{
    char path[32];
    char wanted[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    (void)snprintf(wanted, sizeof(wanted), "socket:[%u]", end->inode);
    SN_AUTO(sn_closedir) DIR *files = opendir(path);
    if (!files)
        return false;
    for (const struct dirent *entry = readdir(files); entry; entry = readdir(files)) {
        char link[64];
        ssize_t size = readlinkat(dirfd(files), entry->d_name, link, sizeof(link) - 1);
        link[size > 0 ? size : 0] = '\0';
        if (strcmp(link, wanted) == 0)
            return true;
    }
    return false;
}

uint64_t sn_stream_network(void)
{
    struct stat found;
    return stat("/proc/self/ns/net", &found) == 0 ? found.st_ino : 0;
}
