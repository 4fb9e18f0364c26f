#include "api/trace_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/method_event.h"
#include "api/silent_names.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"
#include "flow/request.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/trace_info.h"
#include "sink/archive/nettrace_archive.h"

#define SAMPLER      "Microsoft-DotNETCore-SampleProfiler"
#define LARGEST_LIST (64u << 20)

struct sn_trace_names {
    struct sn_road *told;           /* owns */
    struct sn_silent_names *silent; /* owns */
    struct sn_buf list; /* of what was told: u64 address of the schema, u32 size, payload */
    uint32_t count;
};

/* --- keeping --- */

struct keeper {
    struct sn_sink sink;
    struct sn_trace_names *names; /* borrows */
};

/* One that does not fit is left out, and all that come behind it. */
static int keep(struct sn_sink *sink, const struct sn_event *event)
{
    struct sn_trace_names *names = ((struct keeper *)sink)->names;
    size_t size = names->list.size;
    sn_buf_u64(&names->list, (uintptr_t)event->schema);
    sn_buf_u32(&names->list, event->payload_size);
    sn_buf_append(&names->list, event->payload, event->payload_size);
    if (names->list.failed)
        names->list.size = size;
    else
        names->count++;
    return SONDE_OK;
}

static void free_keeper(struct sn_sink *sink)
{
    free(sink);
}

static int keep_what_is_told(struct sn_trace_names *names, struct sonde_error *err)
{
    static const struct sn_sink_ops ops = {.name = "names", .event = keep, .free = free_keeper};
    struct keeper *keeper = calloc(1, sizeof(*keeper));
    if (!keeper)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    *keeper = (struct keeper){.sink.ops = &ops, .names = names};
    int rc = sn_road_subscribe(names->told, &sn_everything, &keeper->sink, false, err);
    return rc < 0 ? rc : SONDE_OK;
}

/* --- life --- */

int sn_trace_names_new(struct sn_road *road, uint32_t pid, struct sn_trace_names **ret_names,
                       struct sonde_error *err)
{
    static const struct sn_request_item items[] = {{.provider = SAMPLER},
                                                   {.provider = SN_RUNTIME_PROVIDER}};
    static const struct sn_request samples = {.items = items, .item_count = 2};
    struct sn_trace_names *names = calloc(1, sizeof(*names));
    if (!names)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    *ret_names = names;
    names->list = sn_buf_with_limit(LARGEST_LIST);
    int rc = sn_road_new(sn_road_loop(road), NULL, &names->told, err);
    if (rc == SONDE_OK)
        rc = keep_what_is_told(names, err);
    struct sn_silent_roads roads = {
        .heard = road, .told = names->told, .samples = &samples, .is_of_one = true};
    if (rc == SONDE_OK)
        rc = sn_silent_names_new(&roads, &names->silent, err);
    if (rc == SONDE_OK)
        sn_silent_names_add(names->silent, pid);
    return rc;
}

void sn_trace_names_free(struct sn_trace_names *names)
{
    if (!names)
        return;
    sn_road_free(names->told);
    sn_silent_names_free(names->silent);
    sn_buf_done(&names->list);
    free(names);
}

void sn_trace_names_tend(struct sn_trace_names *names)
{
    sn_silent_names_tend(names->silent, sn_clock_monotonic_ns());
}

/* --- writing --- */

char *sn_trace_names_path(const char *path)
{
    char *beside = NULL;
    return asprintf(&beside, "%s.symbols", path) < 0 ? NULL : beside;
}

void sn_trace_names_remove(const char *path)
{
    SN_AUTO(sn_free) char *beside = sn_trace_names_path(path);
    if (beside)
        (void)unlink(beside); /* mostly there is none */
}

static int write_list(const struct sn_trace_names *names, struct sn_nettrace_archive *archive,
                      struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(names->list.bytes, names->list.size);
    struct sn_event event = {.time_ns = sn_clock_monotonic_ns(),
                             .cpu = UINT32_MAX,
                             .pointer_size = 8,
                             .is_sorted = true};
    int rc = SONDE_OK;
    for (uint32_t i = 0; i < names->count && rc == SONDE_OK; i++) {
        event.schema = (const struct sn_schema *)(uintptr_t)sn_cursor_u64(&cur);
        event.payload_size = sn_cursor_u32(&cur);
        event.payload = sn_cursor_bytes(&cur, event.payload_size);
        event.sequence = i + 1;
        rc = cur.bad ? SONDE_E_FORMAT : sn_nettrace_archive_event(archive, &event, err);
    }
    return rc == SONDE_OK ? sn_nettrace_archive_finish(archive, err) : rc;
}

int sn_trace_names_write(struct sn_trace_names *names, const char *path,
                         const struct sn_trace_info *info, struct sonde_error *err)
{
    if (!names->count || !info)
        return SONDE_OK;
    SN_AUTO(sn_free) char *beside = sn_trace_names_path(path);
    struct sn_nettrace_archive *archive = NULL;
    if (!beside)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    int rc = sn_nettrace_archive_open_anew(beside, 4, info, &archive, err);
    if (rc == SONDE_OK)
        rc = write_list(names, archive, err);
    sn_nettrace_archive_free(archive);
    return rc;
}
