#include "source/file/nettrace_file.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/source.h"
#include "source/file/input.h"

#define READ_SIZE (1u << 20)

struct file {
    struct sn_source source;
    struct sn_input *input;
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

/* What a recorder has not ended is no damage: it says so. */
static int finish(struct file *file)
{
    int rc = sn_decoder_finish(file->decoder, &file->err);
    enum sn_input_kind kind = sn_input_kind(file->input);
    if (rc != SONDE_E_TRUNCATED || (kind != SN_INPUT_JOURNAL && kind != SN_INPUT_LIVE))
        return rc;
    file->err = (struct sonde_error){0};
    return sn_fail(
        &file->err, rc, sn_decoder_counters(file->decoder).bytes,
        kind == SN_INPUT_LIVE
            ? "still being recorded, this is what it has so far; names come at the end"
            : "the recording was not finished, names may be missing: 'sonde record finish' "
              "adds what this machine still knows");
}

/* A trace that ends early in its archive is a trace that was cut. */
static void read_piece(struct sn_timer *timer)
{
    struct file *file = timer->user;
    size_t got = 0;
    int rc = sn_input_read(file->input, file->bytes, READ_SIZE, &got, &file->err);
    if (rc != SONDE_OK) {
        (void)sn_decoder_finish(file->decoder, NULL); /* hands out what it holds */
        end(file, rc);
        return;
    }
    if (!got) {
        end(file, finish(file));
        return;
    }
    rc = sn_decoder_feed(file->decoder, file->bytes, got, &file->err);
    if (rc != SONDE_OK) {
        end(file, rc);
        return;
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
    sn_input_free(file->input);
    free(file->bytes);
    free(file);
}

static const struct sn_source_ops file_ops = {
    .name = "nettrace file", .start = start, .stop = stop, .free = free_file};

int sn_nettrace_file_new(const char *path, sn_damage_fn *damaged, void *user,
                         struct sn_source **ret_source, struct sonde_error *err)
{
    SN_AUTO(sn_input_free) struct sn_input *input = NULL;
    int rc = sn_input_open(path, &input, err);
    if (rc != SONDE_OK)
        return rc;
    struct file *file = calloc(1, sizeof(*file));
    if (!file)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for '%s'", path);
    file->source.ops = &file_ops;
    file->input = SN_TAKE(input);
    file->bytes = malloc(READ_SIZE);
    file->next = (struct sn_timer){.expired = read_piece, .user = file};
    file->damaged = damaged;
    file->user = user;
    if (!file->bytes) {
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

enum sn_input_kind sn_nettrace_file_kind(const struct sn_source *source)
{
    return sn_input_kind(((const struct file *)source)->input);
}
