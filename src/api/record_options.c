#include "api/record_options.h"

#include <string.h>

#include "api/options_in.h"
#include "base/arena.h"
#include "base/err.h"
#include "sonde/record.h"

#define DEFAULT_FREQUENCY 999u

/* NULL stays NULL. */
static bool copy_text(struct sn_arena *arena, const char **text)
{
    if (*text)
        *text = sn_arena_copy(arena, *text, strlen(*text));
    return *text != NULL;
}

static void *copy_array(struct sn_arena *arena, const void *items, size_t count, size_t item_size)
{
    void *copy = sn_arena_alloc(arena, (count + 1) * item_size);
    if (copy && count)
        memcpy(copy, items, count * item_size);
    return copy;
}

static const char **copy_texts(struct sn_arena *arena, const char *const *texts, size_t count)
{
    const char **copies = copy_array(arena, texts, count, sizeof(*texts));
    for (size_t i = 0; copies && i < count; i++) {
        if (!copy_text(arena, &copies[i]))
            return NULL;
    }
    return copies;
}

static struct sonde_provider *copy_providers(struct sn_arena *arena,
                                             const struct sonde_provider *providers, size_t count)
{
    struct sonde_provider *copies = copy_array(arena, providers, count, sizeof(*copies));
    for (size_t i = 0; copies && i < count; i++) {
        struct sonde_provider *copy = &copies[i];
        bool has_arguments = copy->arguments != NULL;
        copy->ids = copy_array(arena, copy->ids, copy->id_count, sizeof(*copy->ids));
        if (!copy->ids || !copy_text(arena, &copy->name) ||
            copy_text(arena, &copy->arguments) != has_arguments)
            return NULL;
    }
    return copies;
}

static size_t count_arguments(char *const *command)
{
    size_t count = 0;
    while (command && command[count])
        count++;
    return count;
}

int sn_record_options_copy(const struct sonde_record_options *given, struct sn_arena *arena,
                           struct sonde_record_options *ret_options, struct sonde_error *err)
{
    struct sonde_record_options *copy = ret_options;
    int rc = sn_options_in(given, copy, sizeof(*copy), "record options", err);
    if (rc != SONDE_OK)
        return rc;
    if (!copy->frequency)
        copy->frequency = DEFAULT_FREQUENCY;
    bool has_output = copy->output != NULL;
    bool has_cgroup = copy->cgroup != NULL;
    bool has_command = copy->command && copy->command[0];
    copy->pids = copy_array(arena, copy->pids, copy->pid_count, sizeof(*copy->pids));
    copy->names = copy_texts(arena, copy->names, copy->name_count);
    copy->tracepoints = copy_texts(arena, copy->tracepoints, copy->tracepoint_count);
    copy->providers = copy_providers(arena, copy->providers, copy->provider_count);
    const char **command =
        copy_texts(arena, (const char *const *)copy->command, count_arguments(copy->command));
    bool is_whole = copy->pids && copy->names && copy->tracepoints && copy->providers && command &&
                    copy_text(arena, &copy->output) == has_output &&
                    copy_text(arena, &copy->cgroup) == has_cgroup;
    copy->command = has_command ? (char *const *)command : NULL;
    return is_whole ? SONDE_OK : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for so many options");
}
