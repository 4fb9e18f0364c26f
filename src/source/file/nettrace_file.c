#include "source/file/nettrace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/source.h"

#define READ_SIZE (1u << 20)

struct file {
    struct sn_source source;
    int fd;
    char *path;
    off_t offset;
    struct sn_road *road;
    struct sn_decoder *decoder;
    struct sn_timer next; /* due at once: reading a file never waits, but others want their turn */
    sn_damage_fn *damaged;
    void *user;
    uint8_t *bytes;
    struct sonde_error err;
};

static void end(struct file *file, int status)
{
    sn_loop_untimer(&file->next);
    sn_road_ended(file->road, &file->source, status);
}

static void read_piece(struct sn_timer *timer)
{
    struct file *file = timer->user;
    ssize_t got = pread(file->fd, file->bytes, READ_SIZE, file->offset);
    if (got < 0 && errno != EINTR) {
        end(file, sn_fail_errno(&file->err, "cannot read '%s'", file->path));
        return;
    }
    if (got == 0) {
        end(file, sn_decoder_finish(file->decoder, &file->err));
        return;
    }
    if (got > 0) {
        file->offset += got;
        int rc = sn_decoder_feed(file->decoder, file->bytes, (size_t)got, &file->err);
        if (rc != SONDE_OK) {
            end(file, rc);
            return;
        }
    }
    sn_loop_timer(sn_road_loop(file->road), timer, 0);
}

static int start(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    struct file *file = (struct file *)source;
    file->road = road;
    int rc = sn_decoder_new(road, source, file->damaged, file->user, &file->decoder, err);
    if (rc == SONDE_OK)
        sn_loop_timer(sn_road_loop(road), &file->next, 0);
    return rc;
}

static void stop(struct sn_source *source)
{
    struct file *file = (struct file *)source;
    if (!source->has_ended)
        end(file, SONDE_OK);
}

static void free_file(struct sn_source *source)
{
    struct file *file = (struct file *)source;
    sn_loop_untimer(&file->next);
    sn_decoder_free(file->decoder);
    sn_close(file->fd);
    free(file->bytes);
    free(file->path);
    free(file);
}

static const struct sn_source_ops file_ops = {
    .name = "nettrace file", .start = start, .stop = stop, .free = free_file};

int sn_nettrace_file_new(const char *path, sn_damage_fn *damaged, void *user,
                         struct sn_source **ret_source, struct sonde_error *err)
{
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return sn_fail_errno(err, "cannot open '%s'", path);
    if (!S_ISREG(status.st_mode))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%s' is not a file", path);
    struct file *file = calloc(1, sizeof(*file));
    if (!file)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for '%s'", path);
    file->source.ops = &file_ops;
    file->fd = sn_take_fd(&fd);
    file->path = strdup(path);
    file->bytes = malloc(READ_SIZE);
    file->next = (struct sn_timer){.expired = read_piece, .user = file};
    file->damaged = damaged;
    file->user = user;
    if (!file->bytes || !file->path) {
        free_file(&file->source);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for '%s'", path);
    }
    *ret_source = &file->source;
    return SONDE_OK;
}

const struct sn_decoder *sn_nettrace_file_decoder(const struct sn_source *source)
{
    return ((const struct file *)source)->decoder;
}

const struct sonde_error *sn_nettrace_file_error(const struct sn_source *source)
{
    return &((const struct file *)source)->err;
}
