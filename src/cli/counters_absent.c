#include "cli/counters_absent.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/pattern.h"
#include "cli/terminal.h"
#include "sonde/counters.h"
#include "sonde/process.h"

/* --- processes --- */

static bool is_wanted(const struct sonde_counters_options *options,
                      const struct sonde_process *process)
{
    for (size_t i = 0; i < options->name_count; i++) {
        if (sonde_process_is_called(process, options->names[i]))
            return true;
    }
    return options->all;
}

static size_t count_unreachable(const struct sonde_counters_options *options)
{
    struct sonde_process_list *list = NULL;
    size_t count = 0;
    if (sonde_process_list_new(&list, NULL) != SONDE_OK)
        return 0;
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        count += is_wanted(options, process) && !process->is_reachable;
    }
    sonde_process_list_free(list);
    return count;
}

void sn_counters_say_nobody(struct sn_buf *to, const struct sonde_counters_options *options)
{
    size_t unreachable = count_unreachable(options);
    if (unreachable) {
        sn_buf_format(to, "of %zu such .NET process%s none can be reached; 'sonde ps' says why",
                      unreachable, unreachable == 1 ? "" : "es");
        return;
    }
    sn_buf_text(to, "no .NET process");
    for (size_t i = 0; i < options->name_count && !options->all; i++)
        sn_buf_format(to, "%s '%s'", i ? " or" : " called", options->names[i]);
}

/* --- meters and EventSources --- */

static void add(struct sn_counters_asked_list *asked, const char *text, size_t size)
{
    size_t blanks = strspn(text, " ");
    const char *name = text + (blanks < size ? blanks : size);
    size -= (size_t)(name - text);
    const char *backslash = memchr(name, '\\', size); /* "Meters\" or "EventCounters\" */
    if (backslash) {
        size -= (size_t)(backslash + 1 - name);
        name = backslash + 1;
    }
    struct sn_counters_asked item = {0};
    if (!size || size >= sizeof(item.name) || asked->count == SN_ASKED_MAX)
        return;
    memcpy(item.name, name, size);
    asked->items[asked->count++] = item;
}

/* "Provider[counter,counter],Provider". */
static void add_list(struct sn_counters_asked_list *asked, const char *text)
{
    while (*text) {
        size_t size = strcspn(text, ",[");
        add(asked, text, size);
        text += size;
        text += *text == '[' ? strcspn(text, "]") : 0;
        text += strcspn(text, ",");
        text += *text == ',';
    }
}

void sn_counters_asked_begin(struct sn_counters_asked_list *asked,
                             const struct sonde_counters_options *options)
{
    asked->count = 0;
    for (size_t i = 0; i < options->counter_count && !options->no_runtime; i++)
        add_list(asked, options->counters[i]);
    asked->silent_count = asked->count;
}

static bool is_of(const struct sonde_point *point, const char *name)
{
    return strchr(name, '*') ? sn_pattern_matches(name, point->provider)
                             : strcasecmp(name, point->provider) == 0;
}

void sn_counters_asked_take(struct sn_counters_asked_list *asked, const struct sonde_point *point)
{
    if (point->origin == SONDE_POINT_KERNEL)
        return;
    for (size_t i = 0; i < asked->count && asked->silent_count; i++) {
        struct sn_counters_asked *item = &asked->items[i];
        if (!item->is_told && is_of(point, item->name)) {
            item->is_told = true;
            asked->silent_count--;
        }
    }
}

void sn_counters_asked_tell(const struct sn_counters_asked_list *asked)
{
    for (size_t i = 0; i < asked->count && asked->silent_count; i++) {
        if (asked->items[i].is_told)
            continue;
        (void)fputs("nobody has told anything of '", stderr);
        sn_terminal_put(stderr, SN_STYLE_WARN, asked->items[i].name);
        (void)fputs("': is there such a meter or EventSource?\n", stderr);
    }
}
