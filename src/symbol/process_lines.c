#include "symbol/process_lines.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/table.h"
#include "flow/sink.h"
#include "model/event.h"
#include "symbol/code.h"
#include "symbol/lines.h"

#define PROCESS_LIMIT 4096u /* with a runtime */

struct sn_process_lines {
    struct sn_code *code;
    struct sn_table by_methods; /* of a process -> its lines; owns them */
};

int sn_process_lines_new(struct sn_code *code, struct sn_process_lines **ret_lines,
                         struct sonde_error *err)
{
    struct sn_process_lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for source lines");
    lines->code = code;
    lines->by_methods = sn_table_with_limit(PROCESS_LIMIT);
    *ret_lines = lines;
    return SONDE_OK;
}

void sn_process_lines_free(struct sn_process_lines *lines)
{
    if (!lines)
        return;
    for (size_t i = 0; i < lines->by_methods.capacity; i++) {
        if (lines->by_methods.slots[i].used)
            sn_lines_free((struct sn_lines *)(uintptr_t)lines->by_methods.slots[i].value);
    }
    sn_table_done(&lines->by_methods);
    free(lines);
}

static void take_map(struct sn_process_lines *lines, const struct sn_event *event)
{
    const struct sn_methods *methods = sn_code_methods(lines->code, event->pid, event->time_ns);
    uint64_t *slot =
        methods ? sn_table_put(&lines->by_methods, (uint64_t)(uintptr_t)methods) : NULL;
    struct sn_lines *made = NULL;
    if (slot && !*slot && sn_lines_new(methods, &made, NULL) == SONDE_OK)
        *slot = (uint64_t)(uintptr_t)made;
    if (slot && *slot)
        sn_lines_take((struct sn_lines *)(uintptr_t)*slot, event);
}

struct line_sink {
    struct sn_sink sink;
    struct sn_process_lines *lines; /* borrows */
};

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    take_map(((struct line_sink *)sink)->lines, event);
    return SONDE_OK;
}

static void free_sink(struct sn_sink *sink)
{
    free(sink);
}

static const struct sn_sink_ops sink_ops = {
    .name = "process lines", .event = take_event, .free = free_sink};

struct sn_sink *sn_process_lines_sink(struct sn_process_lines *lines)
{
    struct line_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return NULL;
    *sink = (struct line_sink){.sink.ops = &sink_ops, .lines = lines};
    return &sink->sink;
}

bool sn_process_lines_find(void *user, const struct sn_place *place, uint64_t address,
                           const char **ret_file, uint32_t *ret_line)
{
    struct sn_process_lines *lines = user;
    const uint64_t *slot = sn_table_find(&lines->by_methods, (uint64_t)(uintptr_t)place->methods);
    return slot && *slot &&
           sn_lines_find((struct sn_lines *)(uintptr_t)*slot, place->method, address, ret_file,
                         ret_line);
}
