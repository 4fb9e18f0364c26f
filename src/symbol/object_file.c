#include "symbol/object_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own.h"

#define SIZE_LIMIT        (64ull << 30) /* debug files of browsers take some 4 GB */
#define PROC_PATH_SIZE    80u
#define SN_OBJECT_DELETED " (deleted)"
#define NS_PER_S          1000000000

/* How sure it must be that a file found by its path is the one that was mapped. */
enum match {
    MATCH_EXACT, /* device and inode */
    MATCH_LOOSE, /* inode, where one is known: devices differ on subvolumes and overlays */
};

static bool is_deleted(const char *path)
{
    size_t size = strlen(path);
    size_t tail = strlen(SN_OBJECT_DELETED);
    return size > tail && strcmp(path + size - tail, SN_OBJECT_DELETED) == 0;
}

static bool is_our_root(int root)
{
    struct stat theirs = {0};
    struct stat ours = {0};
    return fstat(root, &theirs) == 0 && stat("/", &ours) == 0 && theirs.st_dev == ours.st_dev &&
           theirs.st_ino == ours.st_ino;
}

/* Only a handle, O_PATH: nothing happens to what it may be, a FIFO or a tape. Before Linux 5.6 the
 * links in another root would lead out of it, so only our own can be looked into; a filter that
 * refuses the call is taken at its word. */
static int handle_below(int root, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (fd >= 0 || errno != ENOSYS || !is_our_root(root))
        return fd;
    return openat(root, path + strspn(path, "/"), O_PATH | O_CLOEXEC | O_NOFOLLOW);
}

static bool stat_regular(int handle, struct stat *ret_status)
{
    return handle >= 0 && fstat(handle, ret_status) == 0 && S_ISREG(ret_status->st_mode) &&
           ret_status->st_size > 0 && (uint64_t)ret_status->st_size <= SIZE_LIMIT;
}

/* The real descriptor behind a handle that is known to be a regular file. O_NONBLOCK: somebody may
 * hold a lease on it. */
static int open_handle(int handle)
{
    char path[PROC_PATH_SIZE];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", handle); /* fits */
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static bool matches(const struct sn_object_place *place, const struct stat *status,
                    enum match match)
{
    if (match == MATCH_EXACT)
        return place->inode && status->st_ino == place->inode && status->st_dev == place->device;
    return !place->inode || status->st_ino == place->inode;
}

static int open_in_root(const struct sn_object_place *place, uint32_t pid, enum match match)
{
    char root_path[PROC_PATH_SIZE] = "/";
    struct stat status = {0};
    if (pid)
        (void)snprintf(root_path, sizeof(root_path), "/proc/%" PRIu32 "/root", pid); /* fits */
    SN_AUTO(sn_close) int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    SN_AUTO(sn_close) int handle = root < 0 ? -1 : handle_below(root, place->path);
    if (!stat_regular(handle, &status) || !matches(place, &status, match))
        return -1;
    return open_handle(handle);
}

/* The mapped file itself, whatever became of its name. Needs more rights than its path. */
static int open_map_file(const struct sn_object_place *place)
{
    char path[PROC_PATH_SIZE];
    struct stat status = {0};
    if (!place->pid || !place->end)
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
                   place->pid, place->start, place->end); /* fits */
    SN_AUTO(sn_close) int handle = open(path, O_PATH | O_CLOEXEC);
    if (!stat_regular(handle, &status) || !matches(place, &status, MATCH_LOOSE))
        return -1;
    return open_handle(handle);
}

static int open_place(const struct sn_object_place *place)
{
    bool has_path = !is_deleted(place->path);
    int fd = has_path ? open_in_root(place, place->pid, MATCH_EXACT) : -1;
    if (fd < 0)
        fd = open_map_file(place);
    if (fd < 0 && has_path)
        fd = open_in_root(place, place->pid, MATCH_LOOSE);
    if (fd < 0 && has_path && place->pid) /* gone, or not ours to look into */
        fd = open_in_root(place, 0, MATCH_EXACT);
    return fd;
}

bool sn_object_file_open(const struct sn_object_place *place, struct sn_object_file *ret_file)
{
    struct stat status = {0};
    SN_AUTO(sn_close) int fd = place->path[0] == '/' ? open_place(place) : -1;
    ret_file->fd = -1;
    if (!stat_regular(fd, &status))
        return false;
    *ret_file = (struct sn_object_file){.place = *place,
                                        .device = status.st_dev,
                                        .inode = status.st_ino,
                                        .size = (uint64_t)status.st_size,
                                        .changed_ns = (int64_t)status.st_mtim.tv_sec * NS_PER_S +
                                                      status.st_mtim.tv_nsec,
                                        .fd = sn_take_fd(&fd)};
    return true;
}

bool sn_object_file_open_vdso(struct sn_object_file *ret_file)
{
    const uint8_t *memory = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    Elf64_Ehdr head;
    if (!memory)
        return false;
    memcpy(&head, memory, sizeof(head)); /* the kernel's own: its section headers are its end */
    *ret_file =
        (struct sn_object_file){.memory = memory,
                                .size = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize,
                                .fd = -1};
    return true;
}

bool sn_object_file_is_same(const struct sn_object_file *one, const struct sn_object_file *other)
{
    return one->device == other->device && one->inode == other->inode && one->size == other->size &&
           one->changed_ns == other->changed_ns;
}

bool sn_object_file_reopen(struct sn_object_file *file)
{
    struct sn_object_file again = {.fd = -1};
    if (file->fd >= 0 || file->memory)
        return true;
    if (!file->place.path || !sn_object_file_open(&file->place, &again))
        return false;
    if (sn_object_file_is_same(file, &again))
        file->fd = sn_take_fd(&again.fd);
    sn_object_file_close(&again);
    return file->fd >= 0;
}

void sn_object_file_close(struct sn_object_file *file)
{
    sn_close(file->fd);
    file->fd = -1;
}

size_t sn_object_file_read(const struct sn_object_file *file, uint64_t offset, void *to,
                           size_t size)
{
    if (offset >= file->size)
        return 0;
    size = size < file->size - offset ? size : (size_t)(file->size - offset);
    if (!file->memory)
        return sn_file_read_from(file->fd, offset, to, size);
    memcpy(to, file->memory + offset, size);
    return size;
}
