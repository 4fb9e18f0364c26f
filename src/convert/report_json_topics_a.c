/* Parts of a report as JSON: collections, exceptions, allocations, lock contention. */
#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "clr/words.h"
#include "convert/report_json.h"
#include "convert/sites.h"
#include "model/report.h"

/* Sites of one kind, or of all of contention; the largest. */
#define SITE_MAX 20u
#define OPEN_MAX 100u

static void write_percentiles(struct sn_json *json, const struct sn_series *series)
{
    sn_json_u64(json, "p50Ns", sn_series_percentile(series, 50));
    sn_json_u64(json, "p90Ns", sn_series_percentile(series, 90));
    sn_json_u64(json, "p95Ns", sn_series_percentile(series, 95));
    sn_json_u64(json, "p99Ns", sn_series_percentile(series, 99));
    sn_json_u64(json, "maxNs", series->max);
}

static void write_rate(struct sn_json *json, const struct sn_report *report, const char *key,
                       uint64_t value)
{
    double seconds = (double)report->duration_ns / (double)SN_NS_PER_SECOND;
    sn_json_real(json, key, seconds > 0 ? (double)value / seconds : 0);
}

/* Name, module and place; nulls without a stack. */
static void write_frame(struct sn_json *json, const struct sn_frame *frame)
{
    sn_json_text(json, "method", frame ? frame->name : NULL);
    sn_json_text(json, "fullName", frame ? frame->full_name : NULL);
    sn_json_text(json, "module", frame ? frame->module : NULL);
    if (frame && frame->file) {
        sn_json_text(json, "file", frame->file);
        sn_json_u64(json, "line", frame->line);
    }
}

/* With the two numbers of its rows. */
static void write_site(struct sn_json *json, const struct sn_profile *profile,
                       const struct sn_site *site)
{
    sn_json_object(json, NULL);
    write_frame(json, site->frame);
    for (size_t i = 0; i < profile->column_count; i++) {
        bool is_time = profile->columns[i].unit == SN_UNIT_NS;
        sn_json_u64(json, is_time ? "timeNs" : profile->columns[i].name, site->values[i]);
    }
    sn_json_close(json);
}

static void write_sites(struct sn_json *json, const struct sn_profile *profile,
                        const struct sn_sites *sites, uint32_t type)
{
    size_t count;
    const struct sn_site *site = sn_sites_of_type(sites, type, &count);
    sn_json_array(json, "sites");
    for (size_t i = 0; i < count && i < SITE_MAX; i++)
        write_site(json, profile, &site[i]);
    sn_json_close(json);
}

/* --- collections --- */

static void write_pauses(struct sn_json *json, const struct sn_gc_report *gc)
{
    sn_json_object(json, "pauses");
    sn_json_u64(json, "count", gc->pauses.seen_count);
    sn_json_u64(json, "totalNs", gc->pause_ns);
    write_percentiles(json, &gc->pauses);
    if (gc->longest_generation == SN_NO_GENERATION)
        sn_json_null(json, "maxGeneration");
    else
        sn_json_u64(json, "maxGeneration", gc->longest_generation);
    sn_json_u64(json, "suspendNs", gc->suspend_ns);
    sn_json_u64(json, "unattributedNs", gc->unshared_pause_ns);
    sn_json_close(json);
    sn_json_object(json, "otherPauses");
    sn_json_u64(json, "count", gc->other_pause_count);
    sn_json_u64(json, "totalNs", gc->other_pause_ns);
    sn_json_close(json);
}

static void write_counts(struct sn_json *json, const char *key, const uint64_t *counts,
                         uint32_t count, const char *(*name)(uint32_t code))
{
    sn_json_array(json, key);
    for (uint32_t code = 0; code < count; code++) {
        if (!counts[code])
            continue;
        sn_json_object(json, NULL);
        sn_json_u64(json, "code", code);
        sn_json_text(json, "name", name(code));
        sn_json_u64(json, "collections", counts[code]);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_generations(struct sn_json *json, const struct sn_gc_report *gc)
{
    sn_json_array(json, "byGeneration");
    for (unsigned i = 0; i < 3; i++) {
        sn_json_object(json, NULL);
        sn_json_u64(json, "generation", i);
        sn_json_u64(json, "collections", gc->by_generation[i]);
        sn_json_u64(json, "pauseNs", gc->pause_by_generation[i]);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_heap(struct sn_json *json, const struct sn_gc_report *gc)
{
    static const char *const names[SN_GENERATIONS] = {"gen0", "gen1", "gen2", "large", "pinned"};
    sn_json_object(json, "heap");
    sn_json_u64(json, "maxBytes", gc->heap_max_bytes);
    sn_json_u64(json, "firstAfterBytes", gc->heap_first_bytes);
    sn_json_u64(json, "lastAfterBytes", gc->heap_last_bytes);
    sn_json_bool(json, "growing", gc->is_heap_growing);
    sn_json_u64(json, "promotedBytes", gc->promoted_bytes);
    sn_json_u64(json, "pinnedObjectsMax", gc->pinned_max);
    sn_json_object(json, "lastBytes");
    for (unsigned i = 0; i < SN_GENERATIONS; i++)
        sn_json_u64(json, names[i], gc->last_generation_bytes[i]);
    sn_json_close(json);
    sn_json_close(json);
}

static void write_collection(struct sn_json *json, const struct sn_collection *collection,
                             uint64_t first_ns)
{
    uint64_t start_ns = collection->start_ns;
    sn_json_object(json, NULL);
    sn_json_u64(json, "number", collection->number);
    sn_json_u64(json, "generation", collection->generation);
    sn_json_text(json, "reason", sn_clr_gc_reason(collection->reason));
    sn_json_text(json, "type", sn_clr_gc_type(collection->type));
    sn_json_bool(json, "compacting", collection->is_compacting);
    sn_json_bool(json, "ended", collection->is_ended);
    sn_json_u64(json, "startNs", start_ns > first_ns ? start_ns - first_ns : 0);
    sn_json_u64(json, "durationNs", collection->duration_ns);
    sn_json_u64(json, "pauseNs", collection->pause_ns);
    sn_json_u64(json, "heapAfterBytes", collection->heap_after_bytes);
    sn_json_u64(json, "promotedBytes", collection->promoted_bytes);
    sn_json_close(json);
}

void sn_report_json_gc(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_gc_report *gc = &report->gc;
    if (!gc->event_count)
        return;
    sn_json_object(json, "gc");
    sn_json_u64(json, "events", gc->event_count);
    sn_json_u64(json, "collections", gc->total_count);
    sn_json_u64(json, "ended", gc->ended_count);
    sn_json_u64(json, "compacting", gc->compacting_count);
    write_pauses(json, gc);
    write_generations(json, gc);
    write_counts(json, "byReason", gc->by_reason, 32, sn_clr_gc_reason);
    write_counts(json, "byType", gc->by_type, 4, sn_clr_gc_type);
    write_heap(json, gc);
    sn_json_u64(json, "finalized", gc->finalized_count);
    sn_json_u64(json, "notListed", gc->dropped_count);
    sn_json_array(json, "list");
    for (size_t i = 0; i < gc->count; i++)
        write_collection(json, &gc->collections[i], report->first_ns);
    sn_json_close(json);
    sn_json_close(json);
}

/* --- exceptions --- */

static void write_exception_kind(struct sn_json *json, const struct sn_report *report,
                                 const struct sn_sites *sites, const struct sn_exception_kind *kind)
{
    sn_json_object(json, NULL);
    sn_json_text(json, "type", kind->type);
    sn_json_text(json, "name", kind->name);
    sn_json_text(json, "message", kind->message);
    sn_json_u64(json, "thrown", kind->count);
    write_rate(json, report, "perSecond", kind->count);
    sn_json_u64(json, "caught", kind->caught_count);
    sn_json_u64(json, "timeNs", kind->cost_ns);
    sn_json_u64(json, "maxNs", kind->max_cost_ns);
    sn_json_u64(json, "nested", kind->nested_count);
    sn_json_u64(json, "rethrown", kind->rethrown_count);
    write_sites(json, report->exceptions.profile, sites, kind->frame);
    sn_json_close(json);
}

void sn_report_json_exceptions(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_exception_report *exceptions = &report->exceptions;
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    if (!exceptions->event_count)
        return;
    sn_sites_find(&sites, exceptions->profile, exceptions->cost_ns ? 1 : 0);
    sn_json_object(json, "exceptions");
    sn_json_u64(json, "events", exceptions->event_count);
    sn_json_u64(json, "thrown", exceptions->thrown_count);
    write_rate(json, report, "perSecond", exceptions->thrown_count);
    sn_json_u64(json, "nested", exceptions->nested_count);
    sn_json_u64(json, "rethrown", exceptions->rethrown_count);
    sn_json_bool(json, "tellsCatches", exceptions->has_catches);
    sn_json_u64(json, "caught", exceptions->caught_count);
    sn_json_u64(json, "timeNs", exceptions->cost_ns);
    write_percentiles(json, &exceptions->costs);
    sn_json_u64(json, "unmatchedCatches", exceptions->unmatched_count);
    sn_json_array(json, "types");
    for (size_t i = 0; i < exceptions->count; i++)
        write_exception_kind(json, report, &sites, &exceptions->kinds[i]);
    sn_json_close(json);
    sn_json_close(json);
}

/* --- allocations --- */

static void write_allocation_kind(struct sn_json *json, const struct sn_report *report,
                                  const struct sn_sites *sites,
                                  const struct sn_allocation_kind *kind)
{
    sn_json_object(json, NULL);
    sn_json_text(json, "type", kind->type);
    sn_json_text(json, "name", kind->name);
    sn_json_u64(json, "samples", kind->sample_count);
    sn_json_u64(json, "bytes", kind->bytes);
    sn_json_u64(json, "largeSamples", kind->large_count);
    sn_json_u64(json, "largeBytes", kind->large_bytes);
    write_sites(json, report->allocations.profile, sites, kind->frame);
    sn_json_close(json);
}

void sn_report_json_allocations(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_allocation_report *allocations = &report->allocations;
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    if (!allocations->event_count)
        return;
    sn_sites_find(&sites, allocations->profile, 0);
    sn_json_object(json, "allocations");
    sn_json_u64(json, "events", allocations->event_count);
    sn_json_text(json, "source",
                 allocations->is_sampled ? "AllocationSampled" : "GCAllocationTick");
    sn_json_u64(json, "samples", allocations->sample_count);
    sn_json_u64(json, "ignored", allocations->ignored_count);
    sn_json_u64(json, "bytes", allocations->bytes);
    write_rate(json, report, "bytesPerSecond", allocations->bytes);
    sn_json_u64(json, "largeSamples", allocations->large_count);
    sn_json_u64(json, "largeBytes", allocations->large_bytes);
    sn_json_u64(json, "pinnedSamples", allocations->pinned_count);
    sn_json_u64(json, "pinnedBytes", allocations->pinned_bytes);
    sn_json_array(json, "types");
    for (size_t i = 0; i < allocations->count; i++)
        write_allocation_kind(json, report, &sites, &allocations->kinds[i]);
    sn_json_close(json);
    sn_json_close(json);
}

/* --- contention --- */

static void write_thread(struct sn_json *json, const char *id_key, uint64_t id,
                         const char *name_key, const char *name)
{
    if (id)
        sn_json_u64(json, id_key, id);
    else
        sn_json_null(json, id_key);
    sn_json_text(json, name_key, name[0] ? name : NULL);
}

static void write_open_waits(struct sn_json *json, const struct sn_contention_report *contention,
                             const struct sn_sites *sites)
{
    sn_json_u64(json, "open", contention->open_count);
    sn_json_u64(json, "openNs", contention->open_ns);
    sn_json_u64(json, "longestOpenNs", contention->longest_open_ns);
    sn_json_u64(json, "deadlocked", contention->deadlocked_count);
    sn_json_array(json, "openWaits");
    for (size_t i = 0; i < contention->open_count && i < OPEN_MAX; i++) {
        const struct sn_open_wait *wait = &contention->open_waits[i];
        sn_json_object(json, NULL);
        write_thread(json, "thread", wait->thread_id, "threadName", wait->thread_name);
        write_thread(json, "owner", wait->owner_id, "ownerName", wait->owner_name);
        sn_json_u64(json, "timeNs", wait->ns);
        sn_json_bool(json, "deadlocked", wait->is_deadlocked);
        write_frame(json, sn_sites_frame(sites, contention->profile, wait->node));
        sn_json_close(json);
    }
    sn_json_close(json);
}

void sn_report_json_contention(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_contention_report *contention = &report->contention;
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    if (!contention->event_count)
        return;
    sn_sites_find(&sites, contention->profile, 0);
    sn_json_object(json, "contention");
    sn_json_u64(json, "events", contention->event_count);
    sn_json_u64(json, "waits", contention->count);
    write_rate(json, report, "perSecond", contention->count);
    sn_json_u64(json, "timeNs", contention->wait_ns);
    write_percentiles(json, &contention->waits);
    write_open_waits(json, contention, &sites);
    sn_json_u64(json, "nativeWaits", contention->native_count);
    sn_json_u64(json, "nativeNs", contention->native_ns);
    sn_json_u64(json, "unmatched", contention->unmatched_count);
    write_sites(json, contention->profile, &sites, SN_NO_INDEX);
    sn_json_close(json);
}
