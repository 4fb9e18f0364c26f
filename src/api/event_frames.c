#include "api/event_frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/names_beside.h"
#include "api/walk.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/profile.h"
#include "symbol/code.h"
#include "symbol/frames.h"

#define NAME_LIMIT 65536u

struct sn_event_frames {
    struct sn_code *code;
    struct sn_profile *profile;  /* keeps the frames, nothing else */
    struct sn_frames *of_events; /* stacks that the runtime walks */
    struct sn_frames *of_kernel; /* and the kernel */
    struct sn_buf name;
};

static int read_names_beside(const char *path, const struct sn_walk *walk, struct sn_code *code,
                             struct sonde_error *err)
{
    SN_AUTO(sn_names_beside_close) struct sn_names_beside beside = {0};
    int rc = sn_names_beside_open(&beside, path, sn_walk_info(walk), err);
    if (rc == SONDE_END)
        return SONDE_OK;
    if (rc == SONDE_OK)
        rc = sn_walk_subscribe(&beside.walk, &sn_code_request, sn_code_sink(code), false, err);
    return rc == SONDE_OK ? sn_names_beside_run(&beside, err) : rc;
}

static int read_names(const char *path, struct sn_code *code, struct sonde_error *err)
{
    SN_AUTO(sn_walk_done) struct sn_walk walk;
    struct sonde_error cut = {0}; /* told by the next reading again */
    int rc = sn_walk_init(&walk, path, err);
    if (rc == SONDE_OK)
        rc = sn_walk_subscribe(&walk, &sn_code_request, sn_code_sink(code), false, err);
    if (rc != SONDE_OK)
        return rc;
    rc = sn_walk_run(&walk, NULL, NULL, &cut);
    if (rc != SONDE_E_TRUNCATED && rc != SONDE_OK)
        return sn_fail_as(err, &cut);
    return read_names_beside(path, &walk, code, err);
}

static int fill(struct sn_event_frames *frames, const char *path, struct sonde_error *err)
{
    static const struct sn_column column = {.name = "events"};
    int rc = sn_code_new(&frames->code, err);
    if (rc == SONDE_OK)
        rc = sn_profile_new(&column, 1, &frames->profile, err);
    if (rc == SONDE_OK)
        rc = sn_frames_new(frames->code, frames->profile, &frames->of_events, err);
    if (rc == SONDE_OK)
        rc = sn_frames_new(frames->code, frames->profile, &frames->of_kernel, err);
    if (rc != SONDE_OK)
        return rc;
    sn_frames_set_kernel(frames->of_kernel);
    return read_names(path, frames->code, err);
}

int sn_event_frames_new(const char *path, struct sn_event_frames **ret_frames,
                        struct sonde_error *err)
{
    SN_AUTO(sn_event_frames_free) struct sn_event_frames *frames = calloc(1, sizeof(*frames));
    if (!frames)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    frames->name = sn_buf_with_limit(NAME_LIMIT);
    int rc = fill(frames, path, err);
    if (rc == SONDE_OK)
        *ret_frames = SN_TAKE(frames);
    return rc;
}

void sn_event_frames_free(struct sn_event_frames *frames)
{
    if (!frames)
        return;
    sn_frames_free(frames->of_events);
    sn_frames_free(frames->of_kernel);
    sn_profile_free(frames->profile);
    sn_code_free(frames->code);
    sn_buf_done(&frames->name);
    free(frames);
}

static void put_name(struct sn_buf *to, const struct sn_frame *frame)
{
    size_t size = strlen(frame->module);
    bool has_module = strncmp(frame->name, frame->module, size) == 0 && frame->name[size] == '!';
    if (size && !has_module)
        sn_buf_format(to, "%s!", frame->module);
    sn_buf_text(to, frame->name);
}

const char *sn_event_frames_name(void *user, const struct sn_event *event, uint32_t index)
{
    struct sn_event_frames *frames = user;
    bool is_kernel = sn_universal_kind(event->schema) >= 0;
    const struct sn_frame *frame =
        sn_frames_at(is_kernel ? frames->of_kernel : frames->of_events, event, index);
    sn_buf_clear(&frames->name);
    if (frame)
        put_name(&frames->name, frame);
    if (!frame || frames->name.failed || !frames->name.size) {
        uint64_t address = 0;
        memcpy(&address, event->stack + (size_t)index * event->pointer_size, event->pointer_size);
        sn_buf_clear(&frames->name);
        sn_buf_format(&frames->name, "0x%" PRIx64, address);
    }
    return sn_buf_string(&frames->name);
}
