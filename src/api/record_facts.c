#include "api/record_facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "sonde/record.h"
#include "source/proc/facts.h"
#include "source/proc/limits.h"
#include "source/proc/rights.h"

#define ARCHIVE_VERSION 1u

static const char *way_name(int way)
{
    static const char *const names[] = {"best", "machine", "threads", "runtime"};
    return way >= 0 && way <= SONDE_RECORD_RUNTIME ? names[way] : "";
}

static void put_time(struct sn_json *json, const char *key, uint64_t utc_ns)
{
    char text[32];
    sn_json_text(json, key, utc_ns ? sn_clock_rfc3339(utc_ns, text) : NULL);
}

static void put_scope(struct sn_json *json, const struct sonde_record_options *options)
{
    sn_json_object(json, "scope");
    sn_json_bool(json, "everything",
                 !options->pid_count && !options->name_count && !options->cgroup &&
                     !options->command);
    sn_json_array(json, "pids");
    for (size_t i = 0; i < options->pid_count; i++)
        sn_json_u64(json, NULL, options->pids[i]);
    sn_json_close(json);
    sn_json_array(json, "names");
    for (size_t i = 0; i < options->name_count; i++)
        sn_json_text(json, NULL, options->names[i]);
    sn_json_close(json);
    sn_json_text(json, "cgroup", options->cgroup);
    sn_json_text(json, "command", options->command ? options->command[0] : NULL);
    sn_json_close(json);
}

static void put_asked(struct sn_json *json, const struct sonde_record_options *options)
{
    sn_json_object(json, "asked");
    sn_json_u64(json, "frequency", options->no_cpu ? 0 : options->frequency);
    sn_json_bool(json, "switches", options->with_switches);
    sn_json_bool(json, "syscalls", options->with_syscalls);
    sn_json_bool(json, "runtimes", !options->no_runtimes);
    sn_json_array(json, "tracepoints");
    for (size_t i = 0; i < options->tracepoint_count; i++)
        sn_json_text(json, NULL, options->tracepoints[i]);
    sn_json_close(json);
    sn_json_array(json, "providers");
    for (size_t i = 0; i < options->provider_count; i++) {
        char keywords[24];
        const struct sonde_provider *provider = &options->providers[i];
        (void)snprintf(keywords, sizeof(keywords), "0x%llx",
                       (unsigned long long)provider->keywords);
        sn_json_object(json, NULL);
        sn_json_text(json, "name", provider->name);
        sn_json_text(json, "keywords", keywords);
        sn_json_u64(json, "level", provider->level);
        sn_json_close(json);
    }
    sn_json_close(json);
    sn_json_close(json);
}

static void put_counts(struct sn_json *json, const struct sonde_record_stats *stats)
{
    sn_json_object(json, "counts");
    sn_json_u64(json, "samples", stats->sample_count);
    sn_json_u64(json, "switches", stats->switch_count);
    sn_json_u64(json, "syscalls", stats->syscall_count);
    sn_json_u64(json, "tracepoint_events", stats->tracepoint_count);
    sn_json_u64(json, "runtime_events", stats->event_count);
    sn_json_u64(json, "processes", stats->process_count);
    sn_json_u64(json, "runtimes", stats->runtime_count);
    sn_json_u64(json, "silent_runtimes", stats->silent_count);
    sn_json_u64(json, "addresses_named", stats->named_count);
    sn_json_u64(json, "addresses_unnamed", stats->unnamed_count);
    sn_json_close(json);
}

static void put_losses(struct sn_json *json, const struct sn_manifest *manifest)
{
    const struct sonde_record_stats *stats = manifest->stats;
    sn_json_object(json, "losses");
    sn_json_u64(json, "kernel_records", stats->kernel_lost_count);
    sn_json_u64(json, "runtime_events", stats->event_lost_count);
    sn_json_u64(json, "throttled_ns", stats->throttled_ns);
    sn_json_u64(json, "late_events", manifest->late_count);
    sn_json_close(json);
}

void sn_record_manifest(struct sn_buf *to, const struct sn_manifest *manifest)
{
    const struct sonde_record_stats *stats = manifest->stats;
    struct sn_json json = sn_json_to(to);
    sn_json_object(&json, NULL);
    sn_json_u64(&json, "version", ARCHIVE_VERSION);
    sn_json_text(&json, "tool", "sonde " SONDE_VERSION);
    put_time(&json, "start", manifest->start_utc_ns);
    put_time(&json, "end", manifest->end_utc_ns);
    sn_json_u64(&json, "duration_ns", stats->duration_ns);
    sn_json_text(&json, "way", way_name(stats->way));
    sn_json_text(&json, "way_note", stats->way_note);
    sn_json_text(&json, "sampler", stats->sampler);
    sn_json_text(&json, "note", stats->note);
    put_scope(&json, manifest->options);
    put_asked(&json, manifest->options);
    put_counts(&json, stats);
    put_losses(&json, manifest);
    sn_json_object(&json, "clock");
    sn_json_text(&json, "name", "CLOCK_MONOTONIC");
    sn_json_u64(&json, "largest_error_ns", stats->clock_error_ns);
    sn_json_close(&json);
    sn_json_object(&json, "redactions");
    sn_json_bool(&json, "command_lines", !manifest->options->keep_command_lines);
    sn_json_u64(&json, "pieces", manifest->redactions);
    sn_json_close(&json);
    sn_json_close(&json);
    sn_buf_u8(to, '\n');
}

/* The value of the first line "KEY : value" of a file of /proc; "" when there is none. */
static const char *line_value(const char *path, const char *key, char *to, size_t size)
{
    char text[4096];
    *to = '\0';
    if (sn_file_peek_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return to;
    const char *line = strstr(text, key);
    const char *colon = line ? strchr(line, ':') : NULL;
    if (!colon)
        return to;
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    (void)snprintf(to, size, "%.*s", (int)strcspn(value, "\n"), value);
    return to;
}

/* "MAX PERIOD" in microseconds, as the cgroup has it; NULL: no such limit here. */
static const char *cpu_limit(const char *cgroup, char *to, size_t size)
{
    char path[384];
    (void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", cgroup);
    if (sn_file_peek_at(AT_FDCWD, path, to, size) <= 0)
        return NULL;
    to[strcspn(to, "\n")] = '\0';
    return to;
}

static void put_limits(struct sn_json *json)
{
    char text[128];
    struct sn_proc_facts self = {0};
    uint64_t memory = sn_proc_memory_limit("", (uint32_t)getpid());
    bool is_known = sn_proc_facts_read((uint32_t)getpid(), &self);
    sn_json_object(json, "cgroup");
    sn_json_text(json, "path", is_known ? self.cgroup : NULL);
    sn_json_text(json, "cpu_max", is_known ? cpu_limit(self.cgroup, text, sizeof(text)) : NULL);
    if (memory == UINT64_MAX)
        sn_json_null(json, "memory_limit");
    else
        sn_json_u64(json, "memory_limit", memory);
    sn_json_close(json);
}

void sn_record_system(struct sn_buf *to)
{
    struct utsname name = {0};
    struct sysinfo info = {0};
    char text[256];
    (void)uname(&name); /* cannot fail with memory of our own */
    (void)sysinfo(&info);
    struct sn_json json = sn_json_to(to);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "kernel", name.release);
    sn_json_text(&json, "kernel_version", name.version);
    sn_json_text(&json, "machine", name.machine);
    sn_json_u64(&json, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    sn_json_text(&json, "cpu_model", line_value("/proc/cpuinfo", "model name", text, sizeof(text)));
    sn_json_u64(&json, "memory_bytes", (uint64_t)info.totalram * info.mem_unit);
    sn_json_u64(&json, "uptime_s", (uint64_t)info.uptime);
    put_limits(&json);
    sn_json_i64(&json, "perf_event_paranoid", sn_rights_setting("kernel/perf_event_paranoid", -2));
    sn_json_i64(&json, "kptr_restrict", sn_rights_setting("kernel/kptr_restrict", -2));
    sn_json_close(&json);
    sn_buf_u8(to, '\n');
}
