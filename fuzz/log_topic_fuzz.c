/* Any bytes as the trace of a process that logs: what comes to the readers of its topic is whole
 * lines of JSON as long as the ceiling at most, everything else is counted as lost. The first byte
 * chooses the ceiling. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon/daemon.h"
#include "daemon/event_tap.h"
#include "daemon/topic_parts.h"

#define NAME "logs/77"

static void play(struct sn_event_tap *tap, const uint8_t *data, size_t size)
{
    char path[64];
    const struct sonde_read_options options = {.size = sizeof(options), .lost = sn_event_tap_lost};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    if (fd < 0 || sn_file_write_all(fd, data, size, NULL) != SONDE_OK)
        abort();
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)sonde_file_read(path, &options, sn_event_tap_take, tap, NULL);
    (void)close(fd);
    sn_event_tap_settle(tap);
    if (sn_event_tap_has_untold(tap))
        abort();
}

/* "event: NAME\nid: N\ndata: {...}\n\n", and no other end of a line. */
static void check_message(const struct sn_topic_message *message, size_t ceiling)
{
    const char *end = message->bytes + message->size;
    const char *data = memmem(message->bytes, message->size, "\ndata: ", 7);
    if (!data || end[-1] != '\n' || end[-2] != '\n')
        abort();
    data += 7;
    size_t size = (size_t)(end - data) - 2;
    if (!size || *data != '{' || data[size - 1] != '}' || memchr(data, '\n', size))
        abort();
    if (size > ceiling && strncmp(data, "{\"lost\":", 8) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t ceilings[] = {1, 200, 260, 4096, 1u << 20};
    struct sn_daemon daemon = {0};
    struct sn_event_tap *tap = NULL;
    struct sn_topic_place place = {0};
    uint64_t lost = 0;
    if (!size)
        return 0;
    size_t ceiling = ceilings[(data[0] >> 1) % (sizeof(ceilings) / sizeof(*ceilings))];
    if (sn_topics_new(&daemon, &daemon.topics, NULL) != SONDE_OK)
        abort();
    struct sn_topic *topic =
        sn_topics_open(daemon.topics, &(struct sn_topic_options){.name = NAME, .keep = 1024});
    const struct sn_event_tap_options options = {
        .topics = daemon.topics, .name = NAME, .is_log = data[0] & 1u, .message_max = ceiling};
    if (!topic || sn_event_tap_new(&options, &tap, NULL) != SONDE_OK)
        abort();
    play(tap, data + 1, size - 1);
    for (struct sn_topic_message *message; (message = sn_topic_take(topic, &place, &lost));) {
        check_message(message, ceiling);
        sn_topic_message_release(message);
    }
    sn_event_tap_free(tap);
    sn_topic_close(topic);
    sn_topics_free(daemon.topics);
    return 0;
}
