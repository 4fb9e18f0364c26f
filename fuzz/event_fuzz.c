/* Any bytes as a saved trace: every event and value that the public API gives is whole and stays so
 * until the callback returns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "sonde/event.h"

#define KEPT_MAX 64u

static void check_utf8(const struct sonde_value *value)
{
    for (size_t at = 0; at < value->size;) {
        uint32_t point;
        bool is_valid;
        at += sn_text_decode(value->text + at, value->size - at, &point, &is_valid);
        if (!is_valid)
            abort();
    }
    if (value->text[value->size] != '\0')
        abort();
}

/* A field found by its name is the same as when it was walked over, and at the same place. */
static void check_found(struct sonde_event *event, const struct sonde_value *walked)
{
    struct sonde_value found;
    if (walked->depth || walked->type == SONDE_TYPE_CLOSE)
        return;
    if (!sonde_event_field(event, walked->name, &found))
        abort();
    if (found.type == SONDE_TYPE_TEXT)
        check_utf8(&found);
}

static uint64_t touch(const struct sonde_value *value)
{
    const uint8_t *bytes = value->bytes;
    uint64_t sum = value->number + strlen(value->name);
    for (size_t i = 0; bytes && i < value->size; i++)
        sum += bytes[i];
    return sum;
}

static int take(void *user, struct sonde_event *event)
{
    struct sonde_event_info info;
    struct sonde_value value;
    uint64_t *sum = user;
    unsigned depth = 0;
    int rc;
    sonde_event_info(event, &info);
    *sum += strlen(info.provider) + strlen(info.name) + info.utc_ns;
    *sum += sonde_event_stack(event, 0) + sonde_event_stack(event, info.stack_depth);
    for (unsigned count = 0; (rc = sonde_event_next(event, &value)) == SONDE_OK; count++) {
        depth -= value.type == SONDE_TYPE_CLOSE;
        if (value.depth != depth)
            abort();
        depth += value.type == SONDE_TYPE_OPEN;
        *sum += touch(&value);
        if (value.type == SONDE_TYPE_TEXT)
            check_utf8(&value);
        if (count < KEPT_MAX)
            check_found(event, &value);
    }
    if (rc == SONDE_END && depth)
        abort();
    return SONDE_OK;
}

static void take_loss(void *user, uint64_t thread_id, uint64_t count)
{
    *(uint64_t *)user += thread_id + count;
}

static void take_damage(void *user, const struct sonde_damage *damage)
{
    *(uint64_t *)user += damage->offset + strlen(damage->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    uint64_t sum = 0;
    struct sonde_read_options options = {
        .size = sizeof(options), .in_order = size & 1u, .lost = take_loss, .damaged = take_damage};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    if (fd < 0 || sn_file_write_all(fd, data, size, NULL) != SONDE_OK)
        abort();
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)sonde_file_read(path, &options, take, &sum, NULL);
    (void)close(fd);
    return 0;
}
