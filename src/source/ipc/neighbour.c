#include "source/ipc/neighbour.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "source/ipc/connect.h"

#define ALL_IN_SIGHT  "pid:[4026531836]" /* the first pid namespace: it sees every process */
#define NUMBERS       0x10000000u
#define SOCKETS_MAX   256u
#define NS_PER_SECOND 1000000000ull

static const char *own_directory(void)
{
    const char *temp = getenv("TMPDIR");
    return temp && temp[0] == '/' ? temp : "/tmp";
}

static bool sees_everything(void)
{
    char link[64];
    ssize_t size = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
    link[size > 0 ? size : 0] = '\0';
    return strcmp(link, ALL_IN_SIGHT) == 0;
}

/* Digits up to `end`, which is passed over; false: something else. */
static bool read_number(const char **at, const char *end, uint64_t max, uint64_t *ret_number)
{
    char digits[24];
    size_t size = strspn(*at, "0123456789");
    if (size >= sizeof(digits) || strncmp(*at + size, end, strlen(end)) != 0)
        return false;
    memcpy(digits, *at, size);
    digits[size] = '\0';
    *at += size + strlen(end);
    return sn_text_to_u64(digits, max, ret_number);
}

/* "dotnet-diagnostic-1-322946-socket" */
static bool read_name(const char *name, struct sn_ipc_target *target)
{
    static const char prefix[] = "dotnet-diagnostic-";
    const char *at = name + strlen(prefix);
    uint64_t ns_pid = 0;
    if (strncmp(name, prefix, strlen(prefix)) != 0 || strlen(name) >= 90 ||
        !read_number(&at, "-", INT32_MAX, &ns_pid) || !ns_pid ||
        !read_number(&at, "-socket", UINT64_MAX, &target->start_ticks) || *at)
        return false;
    target->ns_pid = (int)ns_pid;
    return true;
}

static int number_of(const char *name)
{
    return SN_IPC_NEIGHBOURS + (int)(sn_text_hash(0, name) % NUMBERS);
}

/* What its file says. Others' sockets are theirs, but for root. */
static bool look(int dir, const char *name, struct sn_ipc_target *target, uint64_t *ret_since_ns)
{
    struct stat found;
    *target = (struct sn_ipc_target){.state = 'S', .comm = "dotnet"};
    if (!read_name(name, target) || fstatat(dir, name, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISSOCK(found.st_mode))
        return false;
    target->pid = number_of(name);
    target->uid = found.st_uid;
    target->gid = found.st_gid;
    target->reach =
        geteuid() == 0 || found.st_uid == geteuid() ? SN_IPC_REACH_OK : SN_IPC_REACH_DENIED;
    (void)snprintf(target->directory, sizeof(target->directory), "%.111s", own_directory());
    (void)snprintf(target->socket_path, sizeof(target->socket_path), "%.111s/%.90s",
                   own_directory(), name);
    if (ret_since_ns)
        *ret_since_ns = (uint64_t)found.st_ctim.tv_sec * NS_PER_SECOND;
    return true;
}

static enum sn_ipc_reach connect_to(int dir, const struct sn_ipc_target *target, int *ret_fd)
{
    SN_AUTO(sn_close) int file = -1;
    const char *name = strrchr(target->socket_path, '/');
    enum sn_ipc_reach reach = sn_ipc_socket_look(dir, name + 1, target->uid, &file);
    return reach == SN_IPC_REACH_OK ? sn_ipc_socket_connect(file, target, ret_fd) : reach;
}

/* Whether nobody in sight listens there, and somebody does. */
static bool is_neighbour(int dir, const struct sn_ipc_target *target)
{
    SN_AUTO(sn_close) int fd = -1;
    return target->reach == SN_IPC_REACH_OK && connect_to(dir, target, &fd) == SN_IPC_REACH_OK;
}

/* A process of ours that has this name for its port is not asked who it is. */
static bool is_in_sight(const struct sn_ipc_target *target)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", target->ns_pid);
    char stat_text[512] = "";
    SN_AUTO(sn_close) int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, stat_text, sizeof(stat_text) - 1) : 0;
    stat_text[size > 0 ? size : 0] = '\0';
    char needle[32];
    (void)snprintf(needle, sizeof(needle), " %" PRIu64 " ", target->start_ticks);
    return strstr(stat_text, needle) != NULL;
}

typedef int each_fn(void *user, int dir, const struct sn_ipc_target *target, uint64_t since_ns);

static int each_socket(each_fn *each, void *user)
{
    DIR *entries = opendir(own_directory());
    int rc = SONDE_OK;
    if (!entries)
        return SONDE_OK;
    for (struct dirent *entry = readdir(entries); entry && rc == SONDE_OK;
         entry = readdir(entries)) {
        struct sn_ipc_target target;
        uint64_t since_ns = 0;
        if (look(dirfd(entries), entry->d_name, &target, &since_ns))
            rc = each(user, dirfd(entries), &target, since_ns);
    }
    (void)closedir(entries); /* only read from */
    return rc;
}

struct listing {
    sn_ipc_found_fn *found;
    void *user;
    bool connects;
    unsigned count;
};

static int list_one(void *user, int dir, const struct sn_ipc_target *target, uint64_t since_ns)
{
    struct listing *listing = user;
    (void)since_ns;
    if (is_in_sight(target) || listing->count == SOCKETS_MAX)
        return SONDE_OK;
    listing->count++;
    return !listing->connects || is_neighbour(dir, target) ? listing->found(listing->user, target)
                                                           : SONDE_OK;
}

int sn_ipc_neighbours(bool connects, sn_ipc_found_fn *found, void *user)
{
    struct listing listing = {.found = found, .user = user, .connects = connects};
    return sees_everything() ? SONDE_OK : each_socket(list_one, &listing);
}

struct search {
    int pid;
    struct sn_ipc_target target;
    uint64_t since_ns;
};

static int match_one(void *user, int dir, const struct sn_ipc_target *target, uint64_t since_ns)
{
    struct search *search = user;
    (void)dir;
    if (target->pid != search->pid)
        return SONDE_OK;
    search->target = *target;
    search->since_ns = since_ns;
    return SONDE_END;
}

bool sn_ipc_neighbour_find(int pid, struct sn_ipc_target *ret_target, uint64_t *ret_since_ns)
{
    struct search search = {.pid = pid};
    if (!sn_ipc_is_neighbour(pid) || each_socket(match_one, &search) != SONDE_END)
        return false;
    *ret_target = search.target;
    if (ret_since_ns)
        *ret_since_ns = search.since_ns;
    return true;
}

int sn_ipc_neighbour_connect(const struct sn_ipc_target *target, int *ret_fd,
                             struct sonde_error *err)
{
    SN_AUTO(sn_close)
    int dir = open(target->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return sn_fail_errno(err, "cannot open '%s'", target->directory);
    errno = 0;
    enum sn_ipc_reach reach = connect_to(dir, target, ret_fd);
    if (reach == SN_IPC_REACH_OK)
        return SONDE_OK;
    if (reach == SN_IPC_REACH_HIDDEN && errno == EAGAIN)
        return SONDE_AGAIN;
    if (reach == SN_IPC_REACH_NO_SOCKET || reach == SN_IPC_REACH_STALE)
        return sn_fail(err, SONDE_E_GONE, 0, "%d has ended", target->pid);
    return sn_ipc_reach_fail(target, reach, err);
}
