#include "convert/report_json.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/ranking.h"
#include "convert/report_show.h"
#include "model/report.h"

void sn_report_json_write(struct sn_stream *stream, const struct sn_report_show *show)
{
    struct sn_json json = sn_json_to(&stream->buf);
    sn_json_object(&json, NULL);
    for (const struct sn_report_section *section = sn_report_sections; section->name; section++) {
        if (!sn_report_shows(show, section))
            continue;
        if (section->json)
            section->json(&json, show->report);
        else if (section->show_json)
            section->show_json(&json, show);
        sn_stream_settle(stream);
    }
    sn_json_close(&json);
    sn_buf_u8(&stream->buf, '\n');
}

void sn_report_json_file(struct sn_json *json, const struct sn_report_show *show)
{
    const struct sn_file_facts *file = show->file;
    char start[32];
    sn_json_u64(json, "format", file->format);
    sn_json_u64(json, "pid", file->pid);
    sn_json_u64(json, "processors", file->processor_count);
    sn_json_text(json, "start", sn_clock_rfc3339(file->start_utc_ns, start));
    sn_json_real(json, "durationSeconds", (double)file->duration_ns / 1e9);
    sn_json_u64(json, "programNs", show->report->duration_ns);
    if (show->report->is_part) {
        sn_json_object(json, "part");
        sn_json_real(json, "fromSeconds", (double)show->report->part_from_ns / 1e9);
        sn_json_real(json, "toSeconds", (double)show->report->part_to_ns / 1e9);
        sn_json_close(json);
    }
    sn_json_u64(json, "bytes", file->byte_count);
    sn_json_u64(json, "events", file->event_count);
    sn_json_u64(json, "lost", file->lost_count);
    sn_json_u64(json, "undeclared", file->unknown_count);
    sn_json_bool(json, "cut", file->is_cut);
    sn_json_u64(json, "damageCount", file->damage_count);
    sn_json_array(json, "damage");
    for (size_t i = 0; i < file->kept_damage_count; i++) {
        sn_json_object(json, NULL);
        sn_json_u64(json, "offset", file->damages[i].offset);
        sn_json_u64(json, "bytes", file->damages[i].bytes);
        sn_json_text(json, "text", file->damages[i].text);
        sn_json_close(json);
    }
    sn_json_close(json);
}

void sn_report_json_events(struct sn_json *json, const struct sn_report_show *show)
{
    sn_json_array(json, "kinds");
    for (size_t i = 0; i < show->file->kind_count; i++) {
        const struct sn_event_kind *kind = &show->file->kinds[i];
        sn_json_object(json, NULL);
        sn_json_text(json, "provider", kind->provider);
        sn_json_text(json, "name", kind->name);
        sn_json_u64(json, "id", kind->id);
        sn_json_u64(json, "version", kind->version);
        sn_json_u64(json, "count", kind->count);
        sn_json_u64(json, "withStack", kind->stack_count);
        sn_json_u64(json, "payloadBytes", kind->payload_bytes);
        sn_json_u64(json, "undecoded", kind->undecoded_count);
        sn_json_close(json);
    }
    sn_json_close(json);
}

/* --- profiles --- */

static void write_frame(struct sn_json *json, const struct sn_frame *frame)
{
    static const char *const kinds[] = {"managed", "native", "runtime",
                                        "type",    "kernel", "process"};
    sn_json_text(json, "fullName", frame->full_name);
    sn_json_text(json, "module", frame->module);
    sn_json_text(json, "namespace", frame->name_space);
    sn_json_text(json, "kind", kinds[frame->kind]);
    sn_json_bool(json, "async", frame->is_async);
    if (!frame->file)
        return;
    sn_json_text(json, "file", frame->file);
    sn_json_u64(json, "line", frame->line);
}

static void write_ranking(struct sn_json *json, const char *key, const struct sn_ranking *ranking,
                          size_t most)
{
    sn_json_array(json, key);
    for (size_t i = 0; i < ranking->count && i < most; i++) {
        const struct sn_ranked *item = &ranking->items[i];
        sn_json_object(json, NULL);
        sn_json_text(json, "name", item->name);
        sn_json_u64(json, "self", item->self);
        sn_json_u64(json, "total", item->total);
        if (item->frame)
            write_frame(json, item->frame);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_list(struct sn_json *json, const char *key, const struct sn_show_view *view,
                       size_t most,
                       void (*rank)(struct sn_ranking *, const struct sn_profile *, int))
{
    SN_AUTO(sn_ranking_done) struct sn_ranking ranking = {0};
    rank(&ranking, view->profile, view->column);
    write_ranking(json, key, &ranking, most);
}

static void write_thread_totals(struct sn_json *json, const struct sn_show_view *view)
{
    const struct sn_profile *profile = view->profile;
    SN_AUTO(sn_free) uint64_t *totals = calloc(profile->thread_count + 1, sizeof(*totals));
    for (size_t i = 0; totals && i < profile->row_count; i++)
        totals[profile->rows[i].thread] += profile->rows[i].values[view->column];
    sn_json_array(json, "threads");
    for (size_t i = 0; totals && i < profile->thread_count; i++) {
        if (!totals[i])
            continue;
        sn_json_object(json, NULL);
        sn_json_u64(json, "id", profile->threads[i].thread_id);
        sn_json_text(json, "name", profile->threads[i].name);
        sn_json_u64(json, "total", totals[i]);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_view(struct sn_json *json, const struct sn_show_view *view, size_t most)
{
    static const char *const units[] = {
        [SN_UNIT_COUNT] = "count", [SN_UNIT_NS] = "nanoseconds", [SN_UNIT_BYTES] = "bytes"};
    sn_json_object(json, view->name);
    sn_json_text(json, "unit", units[view->profile->columns[view->column].unit]);
    sn_json_u64(json, "total", sn_profile_total(view->profile, view->column, SN_NO_INDEX));
    sn_json_u64(json, "dropped", view->profile->dropped_count);
    write_list(json, "bySelf", view, most,
               view->is_of_waits ? sn_ranking_waits : sn_ranking_methods);
    write_list(json, "byTotal", view, most, sn_ranking_inclusive);
    write_list(json, "modules", view, most, sn_ranking_modules);
    write_list(json, "namespaces", view, most, sn_ranking_namespaces);
    write_thread_totals(json, view);
    sn_json_close(json);
}

static const char *truth_name(enum sn_cpu_truth truth)
{
    switch (truth) {
    case SN_CPU_KNOWN: return "known";
    case SN_CPU_NO_RECORD: return "no record";
    case SN_CPU_BAD_RECORD: return "bad record";
    case SN_CPU_SAMPLED: return "sampled by the kernel";
    default: return "no samples";
    }
}

void sn_report_json_profiles(struct sn_json *json, const struct sn_report_show *show)
{
    const struct sn_report *report = show->report;
    sn_json_object(json, "cpu");
    sn_json_text(json, "truth", truth_name(report->cpu_truth));
    sn_json_text(json, "note", report->cpu_note);
    if (sn_report_has_cpu(report)) {
        sn_json_u64(json, "ns", report->cpu_ns);
        sn_json_u64(json, "tracingNs", report->tracing_cpu_ns);
        sn_json_u64(json, "unsampledNs", report->unseen_cpu_ns);
    }
    sn_json_close(json);
    sn_json_object(json, "profiles");
    for (size_t i = 0; i < show->view_count; i++)
        write_view(json, &show->views[i], show->count);
    sn_json_close(json);
}

void sn_report_json_neighbours(struct sn_json *json, const struct sn_report_show *show)
{
    sn_json_object(json, "callers");
    for (size_t i = 0; i < show->view_count; i++) {
        const struct sn_show_view *view = &show->views[i];
        SN_AUTO(sn_neighbours_done) struct sn_neighbours found = {0};
        sn_neighbours_find(&found, view->profile, view->column, show->method);
        sn_json_object(json, view->name);
        sn_json_u64(json, "self", found.self);
        sn_json_u64(json, "total", found.total);
        write_ranking(json, "matched", &found.matched, show->count);
        write_ranking(json, "callers", &found.callers, show->count);
        write_ranking(json, "callees", &found.callees, show->count);
        sn_json_close(json);
    }
    sn_json_close(json);
}

void sn_report_json_threads(struct sn_json *json, const struct sn_report_show *show)
{
    const struct sn_report *report = show->report;
    if (!report->samples)
        return;
    sn_json_array(json, "threads");
    for (size_t i = 0; i < report->thread_count; i++) {
        const struct sn_thread_time *thread = &report->threads[i];
        sn_json_object(json, NULL);
        sn_json_u64(json, "id", thread->thread_id);
        sn_json_text(json, "name", thread->name);
        if (report->machine.is_machine) {
            sn_json_u64(json, "pid", thread->pid);
            sn_json_text(json, "process", thread->process);
        }
        if (sn_report_has_cpu(report))
            sn_json_u64(json, "cpuNs", thread->cpu_ns);
        sn_json_u64(json, "wallNs", thread->wall_ns);
        sn_json_u64(json, "samples", thread->sample_count);
        sn_json_close(json);
    }
    sn_json_close(json);
}
