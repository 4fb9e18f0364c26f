/* Profiles for other programs: a view of one topic of a report. */
#include "sonde/profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/options_in.h"
#include "api/profile_internal.h"
#include "api/read_report.h"
#include "base/err.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/formats.h"
#include "model/report.h"

/* --- views --- */

struct view {
    const char *name;
    const char *topic;  /* of sn_aggregates */
    const char *column; /* of its profile */
    const char *title;
    bool needs_cpu;
};

static const struct view views[SONDE_VIEW_COUNT] = {
    [SONDE_VIEW_CPU] = {"cpu", "samples", "cpu", "CPU time", true},
    [SONDE_VIEW_WALL] = {"wall", "samples", "wall", "wall time", false},
    [SONDE_VIEW_WAIT] = {"wait", "samples", "wait", "time off the CPU", true},
    [SONDE_VIEW_ALLOCATION] = {"alloc", "allocations", "bytes", "bytes allocated", false},
    [SONDE_VIEW_EXCEPTION] = {"exceptions", "exceptions", "count", "exceptions thrown", false},
    [SONDE_VIEW_CONTENTION] = {"contention", "contention", "time", "waiting for locks", false},
    [SONDE_VIEW_SAMPLES] = {"samples", "samples", "samples", "samples, running or not", false},
    [SONDE_VIEW_THREAD_TIME] = {"thread-time", "thread-time", "wall", "thread time", false},
};

const char *sonde_view_name(int view)
{
    return view >= 0 && view < SONDE_VIEW_COUNT ? views[view].name : NULL;
}

int sonde_view_find(const char *name)
{
    for (int view = 0; view < SONDE_VIEW_COUNT; view++) {
        if (strcmp(views[view].name, name) == 0)
            return view;
    }
    return -1;
}

const char *sn_view_title(int view)
{
    return views[view].title;
}

bool sn_view_needs_cpu(const char *name)
{
    int view = sonde_view_find(name);
    return view >= 0 && views[view].needs_cpu;
}

const char *sn_view_column(int view)
{
    return views[view].column;
}

/* The profile that a view looks at; NULL when the trace has none. */
static struct sn_profile **place_of(struct sn_report *report, const char *topic)
{
    if (strcmp(topic, "allocations") == 0)
        return &report->allocations.profile;
    if (strcmp(topic, "exceptions") == 0)
        return &report->exceptions.profile;
    if (strcmp(topic, "contention") == 0)
        return &report->contention.profile;
    if (strcmp(topic, "thread-time") == 0)
        return &report->thread_time;
    return &report->samples;
}

const struct sn_profile *sn_view_profile(const struct sn_report *report, int view)
{
    struct sn_report *lent = (struct sn_report *)(uintptr_t)report; /* only read below */
    const struct sn_profile *profile = *place_of(lent, views[view].topic);
    bool is_told = !views[view].needs_cpu || sn_report_has_cpu(report);
    if (!profile || !is_told)
        return NULL;
    if (view == SONDE_VIEW_THREAD_TIME) /* it is the sampler's; one of nothing is one, too */
        return report->machine.is_machine && !report->machine.is_runtime_sampler ? NULL : profile;
    bool is_of_switches = view == SONDE_VIEW_WAIT && report->cpu_truth == SN_CPU_SAMPLED;
    if (is_of_switches &&
        !sn_profile_total(profile, sn_profile_column(profile, "wait"), SN_NO_INDEX))
        return NULL;
    return profile->row_count ? profile : NULL;
}

/* --- reading --- */

static int missing(const char *path, const struct sn_report *report, int view,
                   struct sonde_error *err)
{
    bool has_samples = report->samples && report->samples->row_count;
    if (view == SONDE_VIEW_WAIT && report->cpu_truth == SN_CPU_SAMPLED)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "'%s' does not have waits; 'sonde record --off-cpu' takes them", path);
    if (view == SONDE_VIEW_THREAD_TIME)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "'%s' is a recording by the kernel, whose views are cpu, wall, wait and "
                       "samples; 'wall' shows threads over time, as thread-time does of a trace",
                       path);
    if (views[view].needs_cpu && has_samples)
        return sn_fail(
            err, SONDE_E_NOT_FOUND, 0,
            "'%s' has no CPU times (%s); view 'wall' shows its samples as wall time", path,
            report->cpu_note ? report->cpu_note : "no record beside it; 'sonde trace' writes one");
    return sn_fail(err, SONDE_E_NOT_FOUND, 0, "'%s' has no events for the view '%s'", path,
                   views[view].name);
}

static int build_sums(struct sonde_profile *profile, struct sonde_error *err)
{
    const struct sn_profile *data = profile->data;
    profile->column = sn_profile_column(data, views[profile->view].column);
    profile->sums = sn_profile_frame_sums(data, profile->column, SN_NO_INDEX);
    profile->totals = sn_profile_node_totals(data, profile->column, SN_NO_INDEX, &profile->self);
    profile->thread_totals = calloc(data->thread_count + 1, sizeof(*profile->thread_totals));
    if (!profile->sums || !profile->totals || !profile->thread_totals)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a profile");
    for (size_t i = 0; i < data->row_count; i++)
        profile->thread_totals[data->rows[i].thread] += data->rows[i].values[profile->column];
    return SONDE_OK;
}

int sonde_profile_read(const char *path, const struct sonde_profile_options *options,
                       struct sonde_profile **ret_profile, struct sonde_error *err)
{
    struct sonde_profile_options asked;
    int rc = sn_options_in(options, &asked, sizeof(asked), "profile options", err);
    if (rc != SONDE_OK)
        return rc;
    if (asked.view < 0 || asked.view >= SONDE_VIEW_COUNT)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "there is no view number %d", asked.view);
    SN_AUTO(sn_report_free) struct sn_report *report = NULL;
    struct sn_read_end end;
    bool with_events = asked.with_events && asked.view == SONDE_VIEW_THREAD_TIME;
    const struct sn_read_options reading = {.topic = with_events ? "thread-time-events"
                                                                 : views[asked.view].topic,
                                            .with_lines = asked.with_lines,
                                            .process = asked.process,
                                            .names = asked.names,
                                            .from_ns = asked.from_ns,
                                            .to_ns = asked.to_ns,
                                            .cpu_record = asked.cpu_record};
    rc = sn_read_report(path, &reading, &report, &end, err);
    if (rc != SONDE_OK)
        return rc;
    if (!sn_view_profile(report, asked.view))
        return missing(path, report, asked.view, err);
    SN_AUTO(sonde_profile_free) struct sonde_profile *profile = calloc(1, sizeof(*profile));
    char *title = strdup(path);
    if (!profile || !title) {
        free(title);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a profile");
    }
    struct sn_profile **place = place_of(report, views[asked.view].topic);
    profile->data = SN_TAKE(*place);
    profile->view = asked.view;
    profile->title = title;
    profile->is_partial = end.is_cut || end.damage_count;
    profile->lost_count = end.lost_count;
    profile->has_cpu = sn_report_has_cpu(report);
    profile->duration_ns = report->duration_ns;
    if (!profile->data->end_ns) { /* without a timeline of its own it is as long as the trace */
        profile->data->start_ns = report->first_ns;
        profile->data->end_ns = report->first_ns + report->duration_ns;
    }
    profile->data->start_utc_ns =
        end.start_utc_ns + (profile->data->start_ns - report->first_ns); /* wraps as it should */
    rc = build_sums(profile, err);
    if (rc != SONDE_OK)
        return rc;
    *ret_profile = SN_TAKE(profile);
    return SONDE_OK;
}

void sonde_profile_free(struct sonde_profile *profile)
{
    if (!profile)
        return;
    sn_profile_free(profile->data);
    free(profile->sums);
    free(profile->self);
    free(profile->totals);
    free(profile->thread_totals);
    free(profile->title);
    free(profile);
}

/* --- getters --- */

bool sonde_profile_is_partial(const struct sonde_profile *profile)
{
    return profile->is_partial;
}

uint64_t sonde_profile_lost_count(const struct sonde_profile *profile)
{
    return profile->lost_count;
}

uint64_t sonde_profile_dropped_count(const struct sonde_profile *profile)
{
    return profile->data->dropped_count;
}

const char *sonde_profile_unit(const struct sonde_profile *profile)
{
    static const char *const units[] = {
        [SN_UNIT_COUNT] = "count", [SN_UNIT_NS] = "nanoseconds", [SN_UNIT_BYTES] = "bytes"};
    return units[profile->data->columns[profile->column].unit];
}

uint64_t sonde_profile_total(const struct sonde_profile *profile)
{
    return profile->totals[0];
}

uint64_t sonde_profile_duration_ns(const struct sonde_profile *profile)
{
    return profile->duration_ns;
}

size_t sonde_profile_frame_count(const struct sonde_profile *profile)
{
    return profile->data->frame_count;
}

bool sonde_profile_frame(const struct sonde_profile *profile, size_t index,
                         struct sonde_frame *ret_frame)
{
    if (index >= profile->data->frame_count)
        return false;
    const struct sn_frame *frame = &profile->data->frames[index];
    *ret_frame = (struct sonde_frame){.name = frame->name,
                                      .full_name = frame->full_name,
                                      .module = frame->module,
                                      .name_space = frame->name_space,
                                      .file = frame->file,
                                      .line = frame->line,
                                      .kind = frame->kind,
                                      .self = profile->sums[index].self,
                                      .total = profile->sums[index].total};
    return true;
}

uint32_t sonde_profile_frame_flags(const struct sonde_profile *profile, size_t index)
{
    return index < profile->data->frame_count ? sn_frame_flags(&profile->data->frames[index]) : 0;
}

size_t sonde_profile_node_count(const struct sonde_profile *profile)
{
    return profile->data->node_count;
}

bool sonde_profile_node(const struct sonde_profile *profile, size_t index,
                        struct sonde_node *ret_node)
{
    if (index >= profile->data->node_count)
        return false;
    *ret_node = (struct sonde_node){.parent = profile->data->nodes[index].parent,
                                    .frame = profile->data->nodes[index].frame,
                                    .self = profile->self[index],
                                    .total = profile->totals[index]};
    return true;
}

size_t sonde_profile_thread_count(const struct sonde_profile *profile)
{
    return profile->data->thread_count;
}

bool sonde_profile_thread(const struct sonde_profile *profile, size_t index,
                          struct sonde_profile_thread *ret_thread)
{
    if (index >= profile->data->thread_count)
        return false;
    const struct sn_profile_thread *thread = &profile->data->threads[index];
    *ret_thread = (struct sonde_profile_thread){.thread_id = thread->thread_id,
                                                .name = thread->name,
                                                .total = profile->thread_totals[index]};
    return true;
}

/* --- writing --- */

#define FORMAT_MAX 16u

static struct sonde_format formats[FORMAT_MAX]; /* filled once, whoever asks first */
static size_t format_count;

static void list_formats(void)
{
    for (const struct sn_format *format = sn_formats; format->name && format_count < FORMAT_MAX;
         format++)
        formats[format_count++] = (struct sonde_format){
            .name = format->name, .extension = format->extension, .summary = format->summary};
}

const struct sonde_format *sonde_formats(size_t *ret_count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, list_formats);
    *ret_count = format_count;
    return formats;
}

int sn_writer_write(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    const struct sn_writer *writer = user;
    int rc = writer->write(writer->user, bytes, size);
    return rc == SONDE_OK ? SONDE_OK : sn_fail(err, rc, 0, "cannot write the result");
}

/* Samples without CPU times must never be taken for them. */
static const char *note_of(const struct sonde_profile *profile)
{
    return profile->view == SONDE_VIEW_WALL && !profile->has_cpu
               ? "wall time: there is no CPU record beside the trace"
               : NULL;
}

int sonde_profile_write(const struct sonde_profile *profile, const char *format,
                        const struct sonde_write_options *options, sonde_write_fn *write,
                        void *user, struct sonde_error *err)
{
    const struct sn_format *chosen = sn_format_find(format);
    if (!chosen)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "there is no format '%.64s'", format);
    struct sonde_write_options asked;
    int rc = sn_options_in(options, &asked, sizeof(asked), "write options", err);
    if (rc != SONDE_OK)
        return rc;
    const struct sn_format_options how = {.column = profile->column,
                                          .title = asked.title ? asked.title : profile->title,
                                          .full_names = asked.full_names,
                                          .merge_threads = asked.merge_threads,
                                          .view = views[profile->view].title,
                                          .note = note_of(profile),
                                          .has_cpu = profile->has_cpu};
    struct sn_writer writer = {.write = write, .user = user};
    SN_AUTO(sn_stream_done) struct sn_stream stream;
    sn_stream_init(&stream, sn_writer_write, &writer);
    chosen->write(&stream, profile->data, &how);
    return sn_stream_finish(&stream, err);
}
