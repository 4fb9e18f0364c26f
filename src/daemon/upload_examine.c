/* What a file from elsewhere is: whether it can be read, and of whom and how long it is. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "daemon/upload.h"
#include "sonde/event.h"

/* A file can be made that takes for ever. */
#define PATIENCE_NS  (120 * (uint64_t)SN_NS_PER_SECOND)
#define LOOK_EVERY   16u
#define RUNDOWN      "Microsoft-Windows-DotNETRuntimeRundown"
#define NAMES        "Universal.System"
#define EVENTPIPE    "Microsoft-DotNETCore-EventPipe"
#define PROCESS_INFO "ProcessInfo"

/* --- its name --- */

/* Controls, and what turns the direction of text around, is not for a list. */
static bool is_shown(uint32_t point)
{
    return point >= 0x20 && (point < 0x7f || point > 0x9f) && (point < 0x200b || point > 0x200f) &&
           (point < 0x2028 || point > 0x202e) && (point < 0x2066 || point > 0x2069) &&
           point != 0xfeff;
}

static const char *last_part(const char *path)
{
    const char *part = path;
    for (const char *at = path; *at; at++)
        part = *at == '/' || *at == '\\' ? at + 1 : part;
    return part;
}

void sn_upload_name(char to[SN_UPLOAD_NAME_MAX], const char *given)
{
    const char *from = last_part(given ? given : "");
    size_t left = strlen(from);
    size_t used = 0;
    while (left) {
        uint32_t point = 0;
        bool is_valid = false;
        size_t size = sn_text_decode(from, left, &point, &is_valid);
        if (used + size >= SN_UPLOAD_NAME_MAX)
            break;
        if (is_valid && is_shown(point)) {
            memcpy(to + used, from, size);
            used += size;
        }
        from += size;
        left -= size;
    }
    to[used] = 0;
    if (!used || strspn(to, ". ") == used)
        (void)snprintf(to, SN_UPLOAD_NAME_MAX, "upload");
}

/* --- its events --- */

struct looking {
    struct sn_upload_facts *facts;
    uint64_t first_ns;
    uint64_t last_ns;
    uint64_t end_ns; /* of our patience */
    bool is_late;
};

/* "dotnet /srv/shop.dll --urls ..." is shop. */
static void take_command(struct sn_upload_facts *facts, const char *command)
{
    char word[256];
    const char *name = NULL;
    for (const char *at = command + strspn(command, " "); *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        (void)snprintf(word, sizeof(word), "%.*s", (int)(size < 255 ? size : 255), at);
        size_t length = strlen(word);
        bool is_library = length > 4 && strcmp(word + length - 4, ".dll") == 0;
        if (is_library)
            word[length - 4] = 0;
        if (!name || is_library) {
            name = last_part(word);
            sn_text_copy(facts->process_name, sizeof(facts->process_name), name);
        }
        if (is_library)
            return;
        at += size;
    }
}

static void take_time(struct looking *looking, const struct sonde_event_info *info)
{
    if (strcmp(info->provider, RUNDOWN) == 0 || strcmp(info->provider, NAMES) == 0)
        return;
    if (!looking->first_ns || info->time_ns < looking->first_ns) {
        looking->first_ns = info->time_ns;
        looking->facts->start_utc_ns = info->utc_ns;
    }
    if (info->time_ns > looking->last_ns)
        looking->last_ns = info->time_ns;
}

static int take_event(void *user, struct sonde_event *event)
{
    struct looking *looking = user;
    struct sn_upload_facts *facts = looking->facts;
    struct sonde_event_info info;
    struct sonde_value value;
    sonde_event_info(event, &info);
    take_time(looking, &info);
    if (!facts->event_count && !facts->is_archive)
        facts->pid = info.pid;
    if (!facts->is_archive && info.name && strcmp(info.name, PROCESS_INFO) == 0 &&
        strcmp(info.provider, EVENTPIPE) == 0 && sonde_event_field(event, "CommandLine", &value) &&
        value.type == SONDE_TYPE_TEXT)
        take_command(facts, value.text);
    if (++facts->event_count % LOOK_EVERY == 0 && sn_clock_monotonic_ns() > looking->end_ns)
        looking->is_late = true;
    return looking->is_late ? SONDE_END : SONDE_OK;
}

static void take_lost(void *user, uint64_t thread_id, uint64_t count)
{
    (void)thread_id;
    ((struct looking *)user)->facts->lost_count += count;
}

static void take_damage(void *user, const struct sonde_damage *damage)
{
    struct looking *looking = user;
    (void)damage;
    looking->facts->damage_count++;
    if (sn_clock_monotonic_ns() > looking->end_ns)
        looking->is_late = true; /* it goes no further than the next event */
}

/* --- all of it --- */

/* Errors name a file of ours: people know it by its own name. */
static void rename_in(struct sonde_error *err, const char *path, const char *name)
{
    char text[sizeof(err->text)];
    const char *at = strstr(err->text, path);
    if (!at)
        return;
    (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - err->text), err->text, name,
                   at + strlen(path));
    memcpy(err->text, text, sizeof(text));
}

static int look_at_head(const char *path, const char *name, struct sn_upload_facts *facts,
                        struct sonde_error *err)
{
    char head[8] = "";
    struct stat status;
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        return sn_fail_errno(err, "cannot open '%s'", name);
    ssize_t got = pread(fd, head, sizeof(head), 0);
    facts->byte_count = (uint64_t)status.st_size;
    facts->is_archive = got >= 4 && memcmp(head, "PK", 2) == 0;
    if (facts->is_archive || (got == 8 && memcmp(head, "Nettrace", 8) == 0))
        return SONDE_OK;
    return sn_fail(err, SONDE_E_FORMAT, 0,
                   "'%s' is neither a trace (.nettrace) nor a recording (.sonde.zip): it does not "
                   "begin as one",
                   name);
}

int sn_upload_examine(const char *path, const char *name, struct sn_upload_facts *ret_facts,
                      struct sonde_error *err)
{
    uint64_t start_ns = sn_clock_monotonic_ns();
    struct looking looking = {.facts = ret_facts, .end_ns = start_ns + PATIENCE_NS};
    const struct sonde_read_options options = {
        .size = sizeof(options), .lost = take_lost, .damaged = take_damage};
    *ret_facts = (struct sn_upload_facts){0};
    int rc = look_at_head(path, name, ret_facts, err);
    if (rc != SONDE_OK)
        return rc;
    rc = sonde_file_read(path, &options, take_event, &looking, err);
    ret_facts->took_ns = sn_clock_monotonic_ns() - start_ns;
    if (looking.is_late || ret_facts->took_ns > PATIENCE_NS)
        return sn_fail(err, SONDE_E_LIMIT, 0, "'%s' takes too long to read: send a part of it",
                       name);
    ret_facts->is_cut = rc == SONDE_E_TRUNCATED;
    if (rc < 0 && !(ret_facts->is_cut && ret_facts->event_count)) {
        rename_in(err, path, name);
        return rc;
    }
    *err = (struct sonde_error){0};
    ret_facts->duration_ns = looking.last_ns - looking.first_ns;
    if (!ret_facts->event_count)
        return sn_fail(err, SONDE_E_FORMAT, 0, "'%s' has no events: there is nothing to show",
                       name);
    return SONDE_OK;
}
