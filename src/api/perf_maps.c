#include "api/perf_maps.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "source/ipc/call.h"
#include "source/ipc/process.h"

/* Where runtimes put them, whatever their TMPDIR. */
#define FOLDER "/tmp"

/* A runtime that does not answer by then goes on writing; its file stays. */
#define OFF_TIMEOUT_NS (500ull * SN_NS_PER_MS)
#define OFF_TOTAL_NS   (2ull * SN_NS_PER_SECOND) /* for all of them */
#define OFF_AT_ONCE    64u                       /* a descriptor each */

/* Roots: those in one container share theirs. More go without. */
#define FOLDER_LIMIT 256u

/* A /tmp that some of the targets have. */
struct folder {
    int fd; /* owns */
    dev_t device;
    ino_t inode;
};

struct map {
    struct sn_perf_maps *all;
    struct sn_ipc_route route;
    struct sn_ipc_call call;
    int folder; /* borrows; -1: not to be had */
    bool was_there;
    bool is_on;
    bool is_answered;
};

struct sn_perf_maps {
    struct sn_loop *loop;
    struct map **items; /* owns both: a call must not move */
    size_t count;
    size_t capacity;
    struct folder folders[FOLDER_LIMIT];
    size_t folder_count;
    size_t going_off; /* calls under way at the end */
};

int sn_perf_maps_new(struct sn_loop *loop, struct sn_perf_maps **ret_maps, struct sonde_error *err)
{
    struct sn_perf_maps *maps = calloc(1, sizeof(*maps));
    if (!maps)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for perf maps");
    maps->loop = loop;
    *ret_maps = maps;
    return SONDE_OK;
}

static const char *name_of(const struct map *map, char to[48])
{
    (void)snprintf(to, 48, "perf-%d.map", map->route.target.ns_pid);
    return to;
}

static int open_folder(int pid)
{
    struct sn_ipc_process process;
    if (!sn_ipc_process_open(pid, &process))
        return -1;
    SN_AUTO(sn_close) int root = sn_ipc_process_open_root(&process);
    sn_ipc_process_close(&process);
    return root < 0 ? -1 : sn_ipc_open_in_root(root, FOLDER, O_PATH | O_DIRECTORY);
}

/* The one that is known already, so that a thousand runtimes need no thousand descriptors. */
static int share_folder(struct sn_perf_maps *maps, int pid)
{
    struct stat status;
    SN_AUTO(sn_close) int fd = open_folder(pid);
    if (fd < 0 || fstat(fd, &status) != 0)
        return -1;
    for (size_t i = 0; i < maps->folder_count; i++) {
        const struct folder *known = &maps->folders[i];
        if (known->device == status.st_dev && known->inode == status.st_ino)
            return known->fd;
    }
    if (maps->folder_count == FOLDER_LIMIT)
        return -1;
    struct folder *added = &maps->folders[maps->folder_count++];
    *added = (struct folder){sn_take_fd(&fd), status.st_dev, status.st_ino};
    return added->fd;
}

/* Anybody may put something there under that name. */
static int open_map(const struct map *map)
{
    char name[48];
    struct stat status;
    SN_AUTO(sn_close) int fd = sn_file_open_regular_at(map->folder, name_of(map, name));
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_uid != map->route.target.uid)
        return -1;
    return sn_take_fd(&fd);
}

static void answered(struct sn_ipc_call *call, int status)
{
    struct map *map = call->user;
    map->is_answered = true;
    map->is_on = status == SONDE_OK;
    sn_ipc_reply_done(&call->reply);
}

/* NULL: no memory; it goes without. */
static struct map *add(struct sn_perf_maps *maps, const struct sn_ipc_route *route)
{
    char name[48];
    struct map **grown =
        sn_array_room(maps->items, maps->count, &maps->capacity, sizeof(struct map *));
    struct map *map = grown ? calloc(1, sizeof(*map)) : NULL;
    if (grown)
        maps->items = grown;
    if (!map)
        return NULL;
    map->all = maps;
    map->route = *route;
    map->folder = share_folder(maps, route->target.pid);
    map->was_there = map->folder < 0 ||
                     faccessat(map->folder, name_of(map, name), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    maps->items[maps->count++] = map;
    return map;
}

void sn_perf_maps_begin(struct sn_perf_maps *maps, const struct sn_ipc_route *route)
{
    static const struct sn_ipc_request request = {.command = SN_IPC_ENABLE_PERF_MAP,
                                                  .perf_map = SN_IPC_PERF_MAP};
    struct map *map = add(maps, route);
    if (!map)
        return;
    map->call = (struct sn_ipc_call){.done = answered, .user = map};
    /* One that has gone meanwhile needs none. */
    (void)sn_ipc_call_start(&map->call, maps->loop, route, &request, SN_IPC_USUAL_TIMEOUT_NS, NULL);
}

void sn_perf_maps_find(struct sn_perf_maps *maps, const struct sn_ipc_target *target)
{
    struct sn_ipc_route route = sn_ipc_route_to(target);
    struct map *map = add(maps, &route);
    if (!map)
        return;
    map->is_answered = true; /* there is nothing to switch off, */
    map->was_there = true;   /* nor to remove */
}

static void went_off(struct sn_ipc_call *call, int status)
{
    struct map *map = call->user;
    (void)status; /* or it has gone */
    map->all->going_off--;
    sn_ipc_reply_done(&call->reply);
}

static void switch_off(struct map *map, struct sn_loop *loop, uint64_t timeout_ns)
{
    static const struct sn_ipc_request request = {.command = SN_IPC_DISABLE_PERF_MAP};
    bool is_asked = map->is_on || !map->is_answered;
    sn_ipc_call_cancel(&map->call);
    map->is_on = false;
    map->is_answered = true;
    map->call = (struct sn_ipc_call){.done = went_off, .user = map};
    map->all->going_off++;
    if (!is_asked ||
        sn_ipc_call_start(&map->call, loop, &map->route, &request, timeout_ns, NULL) != SONDE_OK)
        map->all->going_off--;
}

/* One by one those that are stuck would add up, so many are asked at once. */
void sn_perf_maps_end(struct sn_perf_maps *maps)
{
    SN_AUTO(sn_loop_free) struct sn_loop *loop = NULL;
    uint64_t end_ns = sn_clock_monotonic_ns() + OFF_TOTAL_NS;
    int rc = sn_loop_new(&loop, NULL);
    for (size_t i = 0; rc == SONDE_OK && i < maps->count;) {
        uint64_t now_ns = sn_clock_monotonic_ns();
        uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
        while (i < maps->count && maps->going_off < OFF_AT_ONCE)
            switch_off(maps->items[i++], loop, left_ns < OFF_TIMEOUT_NS ? left_ns : OFF_TIMEOUT_NS);
        while (rc == SONDE_OK && maps->going_off)
            rc = sn_loop_turn(loop, UINT64_MAX, NULL);
    }
    for (size_t i = 0; i < maps->count; i++)
        sn_ipc_call_cancel(&maps->items[i]->call);
    maps->going_off = 0;
}

static void remove_map(const struct map *map)
{
    char name[48];
    SN_AUTO(sn_close) int fd = map->was_there ? -1 : open_map(map);
    if (fd >= 0)
        (void)unlinkat(map->folder, name_of(map, name), 0); /* it was the runtime's */
}

void sn_perf_maps_free(struct sn_perf_maps *maps)
{
    if (!maps)
        return;
    sn_perf_maps_end(maps);
    for (size_t i = 0; i < maps->count; i++) {
        remove_map(maps->items[i]);
        free(maps->items[i]);
    }
    for (size_t i = 0; i < maps->folder_count; i++)
        sn_close(maps->folders[i].fd);
    free(maps->items);
    free(maps);
}

size_t sn_perf_maps_count(const struct sn_perf_maps *maps)
{
    return maps->count;
}

int sn_perf_maps_open(const struct sn_perf_maps *maps, size_t index, uint32_t *ret_pid)
{
    const struct map *map = maps->items[index];
    *ret_pid = (uint32_t)map->route.target.pid;
    return map->folder < 0 ? -1 : open_map(map);
}
