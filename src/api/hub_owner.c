#include "api/hub_owner.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include "api/hub_arguments.h"
#include "api/hub_ask.h"
#include "base/buf.h"
#include "base/own.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "sonde/provider.h"
#include "source/ipc/discover.h"

/* What is in the lock's file; ours are shorter. */
#define TEXT_SIZE 512u

/* --- the lock --- */

static bool next_line(const char **at, const char *key, char *to, size_t size)
{
    size_t key_size = strlen(key);
    const char *line = *at;
    const char *end = strchr(line, '\n');
    if (!end || strncmp(line, key, key_size) != 0 || line[key_size] != '=')
        return false;
    const char *value = line + key_size + 1;
    if ((size_t)(end - value) >= size)
        return false;
    memcpy(to, value, (size_t)(end - value));
    to[end - value] = 0;
    *at = end + 1;
    return true;
}

/* A number as arguments have it. Whatever else somebody has put there is not passed on. */
static bool is_number(const char *text)
{
    return !text[strspn(text, "0123456789.")];
}

/* False: it is being written, or is nothing of ours. */
static bool read_holder(int file, struct sn_hub_owner *owner)
{
    char text[TEXT_SIZE];
    char pid[SN_SETTING_SIZE];
    uint64_t number;
    struct sn_hub_settings said = {0};
    ssize_t size = pread(file, text, sizeof(text) - 1, 0);
    if (size <= 0)
        return false;
    text[size] = 0;
    const char *at = text;
    bool is_whole = next_line(&at, "pid", pid, sizeof(pid)) &&
                    next_line(&at, "interval", said.interval, sizeof(said.interval)) &&
                    next_line(&at, "refresh", said.refresh, sizeof(said.refresh)) &&
                    next_line(&at, "series", said.series, sizeof(said.series)) &&
                    next_line(&at, "histograms", said.histograms, sizeof(said.histograms)) &&
                    is_number(said.interval) && is_number(said.refresh) && is_number(said.series) &&
                    is_number(said.histograms) && sn_text_to_u64(pid, UINT32_MAX, &number);
    if (!is_whole)
        return false;
    owner->other_pid = (uint32_t)number;
    owner->theirs = said;
    return true;
}

/* Two numbers: nothing else that may lie there, such as what a recording is known by, is touched.
 */
static bool is_lock_name(const char *name)
{
    size_t first = strspn(name, "0123456789");
    return first && name[first] == '@' && name[first + 1] &&
           !name[first + 1 + strspn(name + first + 1, "0123456789")];
}

/* Who was killed could not remove its file; nobody has a lock on it any more. */
static void remove_left(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *all = again >= 0 ? fdopendir(again) : NULL;
    if (!all) {
        sn_close(again);
        return;
    }
    for (const struct dirent *entry = readdir(all); entry; entry = readdir(all)) {
        SN_AUTO(sn_close)
        int file = is_lock_name(entry->d_name) ? sn_run_file_open(folder, entry->d_name, 0) : -1;
        if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 &&
            sn_run_file_is(folder, entry->d_name, file))
            (void)unlinkat(folder, entry->d_name, 0);
    }
    (void)closedir(all);
}

static void try_lock(struct sn_hub_owner *owner, int folder, const char *name)
{
    SN_AUTO(sn_close) int file = sn_run_file_open(folder, name, O_CREAT);
    if (file < 0)
        return;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        if (!sn_run_file_is(folder, name, file))
            return; /* whoever had it has just removed it: the next look finds another */
        owner->fd = sn_take_fd(&file);
        owner->other_pid = 0;
        owner->theirs = (struct sn_hub_settings){0};
    } else if (!read_holder(file, owner)) {
        return;
    }
}

bool sn_owner_look(struct sn_hub_owner *owner, const struct sn_ipc_target *target)
{
    struct sn_hub_owner before = *owner;
    char name[64];
    if (owner->fd >= 0)
        return false;
    SN_AUTO(sn_close) int folder = sn_run_folder_make();
    if (folder < 0)
        return false;
    (void)snprintf(name, sizeof(name), "%d@%llu", target->pid,
                   (unsigned long long)target->start_ticks);
    try_lock(owner, folder, name);
    if (owner->fd >= 0) {
        char link[64];
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", owner->fd);
        ssize_t size = readlink(link, owner->path, sizeof(owner->path) - 1);
        owner->path[size > 0 ? size : 0] = 0;
        remove_left(folder);
    }
    return owner->other_pid != before.other_pid || owner->fd != before.fd ||
           memcmp(&owner->theirs, &before.theirs, sizeof(before.theirs)) != 0;
}

void sn_owner_tell(const struct sn_hub_owner *owner, const struct sn_hub_settings *settings)
{
    char text[TEXT_SIZE];
    if (owner->fd < 0)
        return;
    int size =
        snprintf(text, sizeof(text), "pid=%d\ninterval=%s\nrefresh=%s\nseries=%s\nhistograms=%s\n",
                 (int)getpid(), settings->interval, settings->refresh, settings->series,
                 settings->histograms);
    /* At no moment is the file empty: a reader that finds nothing takes a session of ours for
     * another tool's. What is left behind the text until the end is cut is not read. */
    if (pwrite(owner->fd, text, (size_t)size, 0) == size)
        (void)!ftruncate(owner->fd, size);
}

void sn_owner_release(struct sn_hub_owner *owner)
{
    if (owner->fd >= 0 && *owner->path)
        (void)unlink(owner->path); /* it would be found unlocked, which is as good */
    sn_close(sn_take_fd(&owner->fd));
    owner->other_pid = 0;
}

/* --- settings --- */

static const char *const metric_keys[] = {"RefreshInterval", "MaxTimeSeries", "MaxHistograms"};
#define METRIC_KEYS (sizeof(metric_keys) / sizeof(*metric_keys))

static const char *metric_setting(const struct sn_hub_settings *settings, size_t key)
{
    const char *const values[] = {settings->refresh, settings->series, settings->histograms};
    return values[key];
}

static bool is_metrics(const struct sonde_provider *provider)
{
    return strcasecmp(provider->name, SN_METRICS_PROVIDER) == 0;
}

static void copy_value(char to[SN_SETTING_SIZE], const char *arguments, const char *key)
{
    struct sn_argument argument;
    if (sn_argument_find(arguments, key, &argument) && argument.value_size < SN_SETTING_SIZE) {
        memcpy(to, argument.value, argument.value_size);
        to[argument.value_size] = 0;
    }
}

void sn_settings_of(const struct sn_ask *ask, struct sn_hub_settings *ret_settings)
{
    double shortest = 0;
    *ret_settings = (struct sn_hub_settings){0};
    for (size_t i = 0; i < ask->count; i++) {
        const char *arguments = ask->items[i].arguments;
        if (is_metrics(&ask->items[i])) {
            copy_value(ret_settings->refresh, arguments, "RefreshInterval");
            copy_value(ret_settings->series, arguments, "MaxTimeSeries");
            copy_value(ret_settings->histograms, arguments, "MaxHistograms");
            continue;
        }
        double interval = sn_argument_number(arguments, SN_INTERVAL_KEY);
        if (interval > 0 && (shortest <= 0 || interval < shortest)) {
            shortest = interval;
            copy_value(ret_settings->interval, arguments, SN_INTERVAL_KEY);
        }
    }
}

/* Gives the argument `key`, where it is there, another value. */
static bool replace(struct sonde_provider *provider, const char *key, const char *value)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    struct sn_argument argument;
    if (!*value || !sn_argument_find(provider->arguments, key, &argument))
        return true;
    sn_arguments_without(&text, provider->arguments, key);
    sn_argument_put(&text, key, value);
    char *arguments = text.failed ? NULL : strdup(sn_buf_string(&text));
    if (!arguments)
        return false;
    free((void *)provider->arguments);
    provider->arguments = arguments;
    return true;
}

bool sn_settings_apply(const struct sn_hub_settings *settings, struct sn_ask *ask)
{
    bool is_done = true;
    for (size_t i = 0; i < ask->count; i++) {
        struct sonde_provider *provider = &ask->items[i];
        if (!is_metrics(provider))
            is_done &= replace(provider, SN_INTERVAL_KEY, settings->interval);
        for (size_t k = 0; is_metrics(provider) && k < METRIC_KEYS; k++)
            is_done &= replace(provider, metric_keys[k], metric_setting(settings, k));
    }
    return is_done;
}

/* A runtime makes an interval shorter at once, but longer only when nobody has listened. */
static bool is_lengthened(const struct sn_ask *from, const struct sn_ask *to)
{
    for (size_t i = 0; i < from->count; i++) {
        double before = sn_argument_number(from->items[i].arguments, SN_INTERVAL_KEY);
        for (size_t k = 0; k < to->count; k++) {
            bool is_same = strcasecmp(from->items[i].name, to->items[k].name) == 0;
            if (is_same && before > 0 &&
                before < sn_argument_number(to->items[k].arguments, SN_INTERVAL_KEY))
                return true;
        }
    }
    return false;
}

bool sn_settings_clash(const struct sn_ask *from, const struct sn_ask *to)
{
    struct sn_hub_settings ours;
    struct sn_hub_settings theirs;
    if (is_lengthened(from, to))
        return true;
    sn_settings_of(from, &ours);
    sn_settings_of(to, &theirs);
    if (!*ours.refresh || !*theirs.refresh)
        return false;
    for (size_t k = 0; k < METRIC_KEYS; k++) {
        if (strcmp(metric_setting(&ours, k), metric_setting(&theirs, k)) != 0)
            return true;
    }
    return false;
}
