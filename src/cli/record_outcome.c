#include "cli/record_outcome.h"

#include <inttypes.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/record_run.h"
#include "cli/scope_options.h"
#include "cli/terminal.h"

#define JSON_LIMIT (1u << 20)

static void print_line(FILE *to, enum sn_style style, const char *text)
{
    if (!*text)
        return;
    sn_terminal_put(to, style, text);
    (void)fputc('\n', to);
}

void sn_record_print_limits(FILE *to, const struct sonde_record_stats *stats)
{
    print_line(to, SN_STYLE_WARN, stats->way_note);
    print_line(to, SN_STYLE_WARN, stats->note);
}

int sn_record_fail(FILE *to, const struct sonde_error *err)
{
    (void)fputs("sonde: ", to);
    sn_terminal_put(to, SN_STYLE_NONE, err->text[0] ? err->text : sonde_status_name(err->status));
    (void)fputc('\n', to);
    return sn_command_exit_code(err->status);
}

/* --- for people --- */

static void print_count(FILE *to, uint64_t count, const char *what)
{
    char text[32];
    if (count)
        (void)fprintf(to, ", %s %s", sn_text_count(count, text), what);
}

static void print_numbers(FILE *to, const struct sonde_record_stats *stats)
{
    char text[2][32];
    (void)fprintf(to, "%s: %s CPU samples%s%s%s", sn_text_duration(stats->duration_ns, text[0]),
                  sn_text_count(stats->sample_count, text[1]), *stats->sampler ? " (" : "",
                  stats->sampler, *stats->sampler ? ")" : "");
    print_count(to, stats->switch_count, "switches");
    print_count(to, stats->syscall_count, "system calls");
    print_count(to, stats->tracepoint_count, "tracepoint events");
    print_count(to, stats->event_count, "runtime events");
    (void)fprintf(to, "; %s %s, %" PRIu32 " of them .NET; %s lost\n",
                  sn_text_count(stats->process_count, text[1]),
                  stats->process_count == 1 ? "process" : "processes", stats->runtime_count,
                  sn_text_count(stats->kernel_lost_count + stats->event_lost_count, text[0]));
}

static void print_losses(FILE *to, const struct sonde_record_stats *stats)
{
    char text[32];
    if (stats->kernel_lost_count)
        (void)fprintf(to,
                      "the kernel lost %s records: a lower --frequency, a smaller scope (-p, -n, "
                      "--cgroup) or fewer kinds of events lose less\n",
                      sn_text_count(stats->kernel_lost_count, text));
    if (stats->event_lost_count)
        (void)fprintf(to, "runtimes lost %s events: ask them for fewer (--profile, --providers)\n",
                      sn_text_count(stats->event_lost_count, text));
    if (stats->throttled_ns)
        (void)fprintf(to, "the kernel took no samples for %s: a lower --frequency helps\n",
                      sn_text_duration(stats->throttled_ns, text));
}

/* In thousandths, as printf must not know of a locale's comma. */
static uint64_t per_mille(uint64_t part, uint64_t whole)
{
    return whole ? (uint64_t)((double)part * 1000.0 / (double)whole + 0.5) : 0;
}

static void print_cost(FILE *to, const struct sonde_record_stats *stats)
{
    char text[3][32];
    uint64_t share = per_mille(stats->own_cpu_ns, stats->duration_ns + stats->finish_ns);
    (void)fprintf(to, "sonde itself ran %s, %" PRIu64 ".%" PRIu64 " %% of one CPU",
                  sn_text_duration(stats->own_cpu_ns, text[0]), share / 10, share % 10);
    if (stats->archive_bytes)
        (void)fprintf(to, "; %s, ready %s after the stop",
                      sn_text_bytes(stats->archive_bytes, text[1]),
                      sn_text_duration(stats->finish_ns, text[2]));
    (void)fputc('\n', to);
}

static void print_next(FILE *to, const struct sonde_record_stats *stats)
{
    (void)fputs("next: sonde report ", to);
    print_line(to, SN_STYLE_BOLD, stats->output);
}

/* --- for programs --- */

static void write_losses(struct sn_json *json, const struct sonde_record_stats *stats)
{
    sn_json_object(json, "lost");
    sn_json_u64(json, "kernel", stats->kernel_lost_count);
    sn_json_u64(json, "runtimes", stats->event_lost_count);
    sn_json_real(json, "throttledSeconds", (double)stats->throttled_ns / 1e9);
    sn_json_close(json);
}

static void write_counts(struct sn_json *json, const struct sonde_record_stats *stats)
{
    sn_json_u64(json, "samples", stats->sample_count);
    sn_json_u64(json, "switches", stats->switch_count);
    sn_json_u64(json, "systemCalls", stats->syscall_count);
    sn_json_u64(json, "tracepointEvents", stats->tracepoint_count);
    sn_json_u64(json, "runtimeEvents", stats->event_count);
    sn_json_u64(json, "processes", stats->process_count);
    sn_json_u64(json, "runtimes", stats->runtime_count);
    sn_json_u64(json, "silentRuntimes", stats->silent_count);
    sn_json_u64(json, "namedAddresses", stats->named_count);
    sn_json_u64(json, "unnamedAddresses", stats->unnamed_count);
}

static bool write_json(FILE *to, const struct sonde_record_stats *stats, int command_code)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(JSON_LIMIT);
    struct sn_json json = sn_json_to(&out);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "file", stats->output);
    sn_json_bool(&json, "complete", stats->stage == SONDE_RECORD_DONE);
    sn_json_text(&json, "way", sn_way_name(stats->way));
    sn_json_text(&json, "wayNote", stats->way_note);
    sn_json_text(&json, "note", stats->note);
    sn_json_text(&json, "sampler", stats->sampler);
    sn_json_real(&json, "durationSeconds", (double)stats->duration_ns / 1e9);
    sn_json_real(&json, "finishSeconds", (double)stats->finish_ns / 1e9);
    write_counts(&json, stats);
    write_losses(&json, stats);
    sn_json_u64(&json, "journalBytes", stats->byte_count);
    sn_json_u64(&json, "archiveBytes", stats->archive_bytes);
    sn_json_real(&json, "ownCpuSeconds", (double)stats->own_cpu_ns / 1e9);
    sn_json_real(&json, "clockErrorSeconds", (double)stats->clock_error_ns / 1e9);
    if (command_code >= 0)
        sn_json_i64(&json, "exitCode", command_code);
    sn_json_close(&json);
    sn_buf_u8(&out, '\n');
    return !out.failed && fwrite(out.bytes, 1, out.size, to) == out.size && fflush(to) == 0;
}

static bool write_result(const struct sn_record_run *run, const struct sonde_record_stats *stats,
                         int command_code)
{
    if (run->json)
        return write_json(run->result, stats, command_code);
    print_line(run->result, SN_STYLE_BOLD, stats->output);
    return fflush(run->result) == 0;
}

/* --- the outcome --- */

/* As a shell would say it; -1 when there is no such child or it still runs. */
static int exit_code_of(int status)
{
    if (status < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int sn_record_tell_broken(const struct sn_record_run *run, const struct sonde_record_stats *stats,
                          const struct sonde_error *err)
{
    int code = sn_record_fail(run->words, err);
    if (!stats->byte_count)
        return code;
    (void)fputs("what came until then is kept; when there is room: sonde record finish ",
                run->words);
    print_line(run->words, SN_STYLE_BOLD, stats->output);
    (void)write_result(run, stats, -1);
    return SN_EXIT_PARTIAL;
}

/* A kind of event that was asked for and did not come at all, or a chosen process that could not be
 * asked; the note says why. Of a whole machine, single processes may well be out of reach. */
static bool lacks_something(const struct sonde_record_options *options,
                            const struct sonde_record_stats *stats)
{
    bool is_narrow = options->pid_count || options->name_count || options->cgroup;
    return *stats->note && ((options->with_switches && !stats->switch_count) ||
                            (options->with_syscalls && !stats->syscall_count) ||
                            (options->tracepoint_count && !stats->tracepoint_count) ||
                            (is_narrow && stats->silent_count));
}

int sn_record_tell(const struct sn_record_run *run, const struct sonde_record_stats *stats,
                   int command_status)
{
    int command_code = exit_code_of(command_status);
    bool is_written = write_result(run, stats, command_code);
    if (command_code > 0) {
        sn_terminal_put(run->words, SN_STYLE_NONE, run->options.command[0]);
        (void)fprintf(run->words, " ended with %d\n", command_code);
    }
    sn_record_print_limits(run->words, stats);
    print_losses(run->words, stats);
    print_numbers(run->words, stats);
    print_cost(run->words, stats);
    bool has_none = !stats->process_count && !run->options.command;
    if (has_none)
        (void)fputs("no process was there to record; 'sonde ps' lists those of .NET\n", run->words);
    else
        print_next(run->words, stats);
    if (!is_written)
        return SN_EXIT_FAILED;
    if (has_none)
        return SN_EXIT_NO_TARGET;
    if (lacks_something(&run->options, stats))
        return SN_EXIT_PARTIAL;
    return command_code > 0 ? command_code : SN_EXIT_DONE;
}
