#include "daemon/artefact.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"

/* What was read is given back in steps of this: a call for each block would cost more. */
#define GIVE_BACK_STEP (1u << 20)

struct follower {
    void (*changed)(void *user);
    void *user;
};

struct sn_artefact {
    char *path;           /* owns */
    pthread_mutex_t lock; /* of the rest */
    unsigned reference_count;
    bool is_kept;
    bool gives_back; /* nobody ever wanted to keep it: what was read goes */
    bool is_ended;
    int status;
    uint64_t size;
    uint64_t given_back;
    int read_fd;                /* owns; -1 before somebody reads */
    int write_fd;               /* owns; of sn_artefact_append */
    struct follower *followers; /* owns */
    size_t follower_count;
    size_t follower_capacity;
    void (*alone)(void *user);
    void *alone_user;
    void (*gone)(void *user);
    void *gone_user;
};

static void lock(const struct sn_artefact *artefact)
{
    (void)pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&artefact->lock);
}

static void unlock(const struct sn_artefact *artefact)
{
    (void)pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&artefact->lock);
}

int sn_artefact_new(const char *path, bool is_kept, struct sn_artefact **ret_artefact,
                    struct sonde_error *err)
{
    SN_AUTO(sn_free) struct sn_artefact *artefact = calloc(1, sizeof(*artefact));
    char *copy = artefact ? strdup(path) : NULL;
    if (!copy)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an artefact");
    *artefact = (struct sn_artefact){.path = copy,
                                     .reference_count = 1,
                                     .is_kept = is_kept,
                                     .gives_back = !is_kept,
                                     .read_fd = -1,
                                     .write_fd = -1};
    (void)pthread_mutex_init(&artefact->lock, NULL);
    *ret_artefact = SN_TAKE(artefact);
    return SONDE_OK;
}

struct sn_artefact *sn_artefact_hold(struct sn_artefact *artefact)
{
    lock(artefact);
    artefact->reference_count++;
    unlock(artefact);
    return artefact;
}

static void remove_files(const char *path)
{
    static const char *const endings[] = {"", ".cpu", ".names", ".symbols"};
    char whole[4096];
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        int size = snprintf(whole, sizeof(whole), "%s%s", path, endings[i]);
        if (size > 0 && (size_t)size < sizeof(whole))
            (void)unlink(whole);
    }
}

static void destroy(struct sn_artefact *artefact)
{
    sn_close(artefact->read_fd);
    sn_close(artefact->write_fd);
    if (!artefact->is_kept)
        remove_files(artefact->path);
    if (artefact->gone)
        artefact->gone(artefact->gone_user);
    (void)pthread_mutex_destroy(&artefact->lock);
    free(artefact->followers);
    free(artefact->path);
    free(artefact);
}

void sn_artefact_release(struct sn_artefact *artefact)
{
    if (!artefact)
        return;
    lock(artefact);
    unsigned left = --artefact->reference_count;
    if (left == 1 && artefact->alone)
        artefact->alone(artefact->alone_user);
    unlock(artefact);
    if (!left)
        destroy(artefact);
}

const char *sn_artefact_path(const struct sn_artefact *artefact)
{
    return artefact->path;
}

void sn_artefact_keep(struct sn_artefact *artefact)
{
    lock(artefact);
    artefact->is_kept = true;
    artefact->gives_back = false;
    unlock(artefact);
}

void sn_artefact_drop(struct sn_artefact *artefact)
{
    lock(artefact);
    artefact->is_kept = false;
    unlock(artefact);
}

void sn_artefact_on_alone(struct sn_artefact *artefact, void (*alone)(void *user), void *user)
{
    lock(artefact);
    artefact->alone = alone;
    artefact->alone_user = user;
    unlock(artefact);
}

void sn_artefact_on_gone(struct sn_artefact *artefact, void (*gone)(void *user), void *user)
{
    lock(artefact);
    artefact->gone = gone;
    artefact->gone_user = user;
    unlock(artefact);
}

/* --- the writer --- */

/* The lock is held. */
static void tell_followers(struct sn_artefact *artefact)
{
    for (size_t i = 0; i < artefact->follower_count; i++)
        artefact->followers[i].changed(artefact->followers[i].user);
}

/* The lock is held. What was cut off behind our back does not come back: the size never falls. */
static bool look_at_size(struct sn_artefact *artefact)
{
    struct stat status;
    if (stat(artefact->path, &status) != 0 || (uint64_t)status.st_size <= artefact->size)
        return false;
    artefact->size = (uint64_t)status.st_size;
    return true;
}

int sn_artefact_append(struct sn_artefact *artefact, const void *bytes, size_t size,
                       struct sonde_error *err)
{
    if (artefact->write_fd < 0) {
        artefact->write_fd =
            open(artefact->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (artefact->write_fd < 0)
            return sn_fail_errno(err, "cannot make %s", artefact->path);
    }
    int rc = sn_file_write_all(artefact->write_fd, bytes, size, err);
    sn_artefact_grown(artefact);
    return rc;
}

void sn_artefact_grown(struct sn_artefact *artefact)
{
    lock(artefact);
    if (look_at_size(artefact))
        tell_followers(artefact);
    unlock(artefact);
}

void sn_artefact_end(struct sn_artefact *artefact, int status, const char *message)
{
    (void)message; /* told by who made it: a cut connection carries no text */
    lock(artefact);
    if (!artefact->is_ended) {
        (void)look_at_size(artefact);
        artefact->is_ended = true;
        artefact->status = status;
        tell_followers(artefact);
    }
    unlock(artefact);
}

/* --- readers --- */

/* The lock is held. */
static bool open_to_read(struct sn_artefact *artefact)
{
    if (artefact->read_fd < 0)
        artefact->read_fd = open(artefact->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return artefact->read_fd >= 0;
}

/* The lock is held: everything before `offset` was read. File systems that cannot keep it all. */
static void give_back(struct sn_artefact *artefact, uint64_t offset)
{
    uint64_t until = offset - offset % GIVE_BACK_STEP;
    if (!artefact->gives_back || until <= artefact->given_back)
        return;
    SN_AUTO(sn_close) int fd = open(artefact->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0)
        (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)artefact->given_back,
                        (off_t)(until - artefact->given_back));
    artefact->given_back = until;
}

ssize_t sn_artefact_read(struct sn_artefact *artefact, uint64_t offset, void *to, size_t size)
{
    lock(artefact);
    uint64_t left = artefact->size > offset ? artefact->size - offset : 0;
    bool is_ended = artefact->is_ended;
    bool is_good = artefact->status == SONDE_OK;
    bool is_open = left && open_to_read(artefact);
    int fd = artefact->read_fd;
    if (is_open)
        give_back(artefact, offset);
    unlock(artefact);
    if (!left && !is_ended)
        return 0;
    if (!left)
        return is_good ? SN_ARTEFACT_END : SN_ARTEFACT_FAILED;
    ssize_t got = is_open ? pread(fd, to, left < size ? (size_t)left : size, (off_t)offset) : -1;
    return got > 0 ? got : SN_ARTEFACT_FAILED;
}

uint64_t sn_artefact_size(const struct sn_artefact *artefact)
{
    lock(artefact);
    uint64_t size = artefact->size;
    unlock(artefact);
    return size;
}

uint64_t sn_artefact_held(const struct sn_artefact *artefact)
{
    lock(artefact);
    uint64_t held = artefact->size - artefact->given_back;
    unlock(artefact);
    return held;
}

bool sn_artefact_is_ended(const struct sn_artefact *artefact, int *ret_status)
{
    lock(artefact);
    bool is_ended = artefact->is_ended;
    if (ret_status)
        *ret_status = artefact->status;
    unlock(artefact);
    return is_ended;
}

/* The lock is held. */
static void leave(struct sn_artefact *artefact, const void *user)
{
    size_t kept = 0;
    for (size_t i = 0; i < artefact->follower_count; i++) {
        if (artefact->followers[i].user != user)
            artefact->followers[kept++] = artefact->followers[i];
    }
    artefact->follower_count = kept;
}

bool sn_artefact_follow(struct sn_artefact *artefact, void (*changed)(void *user), void *user)
{
    bool is_done = true;
    lock(artefact);
    leave(artefact, user);
    if (changed) {
        struct follower *followers =
            sn_array_room(artefact->followers, artefact->follower_count,
                          &artefact->follower_capacity, sizeof(*followers));
        is_done = followers != NULL;
        if (followers) {
            artefact->followers = followers;
            followers[artefact->follower_count++] =
                (struct follower){.changed = changed, .user = user};
        }
    }
    unlock(artefact);
    return is_done;
}
