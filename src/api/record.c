#include "sonde/record.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/cpu_record.h"
#include "api/machine.h"
#include "api/record_facts.h"
#include "api/record_names.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "flow/dispatch.h"
#include "flow/road.h"
#include "model/trace_info.h"
#include "sink/archive/journal.h"

#define ARCHIVE_END    ".sonde.zip"
#define JOURNAL_END    ".sonde"
#define FLUSH_EVERY_NS (1000ull * SN_NS_PER_MS)
#define FACTS_LIMIT    (1u << 20)

/* More often at first: a recorder that is killed early has written something. */
#define FIRST_FLUSH_NS (250ull * SN_NS_PER_MS)
#define FIRST_NS       (3ull * SN_NS_PER_SECOND)

/* A process whose runtime samples: its CPU time beside it. */
struct cpu {
    struct cpu *next;
    struct sn_cpu_record *record;
};

struct sonde_recorder {
    const struct sonde_record_options *options; /* borrows: the machine's copy */
    struct sn_machine *machine;
    struct sn_journal *journal;
    struct sn_naming *naming;
    struct sn_packing *packing;
    struct cpu *cpus;   /* owns */
    char *archive;      /* owns; NAME.sonde.zip */
    char *journal_path; /* owns; NAME.sonde */
    int subscription;   /* the journal's */
    int stage;          /* enum sonde_record_stage */
    uint64_t start_ns;
    uint64_t start_utc_ns;
    uint64_t stop_ns; /* 0: it records */
    uint64_t done_ns;
    uint64_t flush_ns;   /* the next */
    uint64_t own_cpu_ns; /* at the start */
    uint64_t byte_count;
    uint64_t archive_bytes;
};

static uint64_t own_cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* always there */
    return (uint64_t)now.tv_sec * SN_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* --- names of files --- */

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text);
    return size > strlen(end) && strcmp(text + size - strlen(end), end) == 0;
}

/* "x.sonde.zip" is written as "x.sonde" first. */
static int choose_paths(struct sonde_recorder *recorder, struct sonde_error *err)
{
    const char *output = recorder->options->output;
    if (!output)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a recording needs a file to go to");
    bool is_archive = ends_with(output, ARCHIVE_END);
    if (!is_archive && !(ends_with(output, JOURNAL_END) && recorder->options->keep_journal))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the name of an archive ends in " ARCHIVE_END);
    size_t stem = strlen(output) - strlen(is_archive ? ARCHIVE_END : JOURNAL_END);
    if (asprintf(&recorder->archive, "%.*s" ARCHIVE_END, (int)stem, output) < 0)
        recorder->archive = NULL;
    if (asprintf(&recorder->journal_path, "%.*s" JOURNAL_END, (int)stem, output) < 0)
        recorder->journal_path = NULL;
    return recorder->archive && recorder->journal_path
               ? SONDE_OK
               : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a file name");
}

/* --- what is told of it --- */

static void fill_stats(struct sonde_recorder *recorder, struct sonde_record_stats *stats)
{
    uint64_t end_ns = recorder->stop_ns ? recorder->stop_ns : sn_clock_monotonic_ns();
    sn_machine_stats(recorder->machine, stats);
    bool is_archive = recorder->stage == SONDE_RECORD_DONE && !recorder->options->keep_journal;
    stats->stage = recorder->stage;
    stats->output = is_archive ? recorder->archive : recorder->journal_path;
    stats->duration_ns = end_ns - recorder->start_ns;
    stats->finish_ns = recorder->done_ns ? recorder->done_ns - recorder->stop_ns : 0;
    stats->byte_count =
        recorder->journal ? sn_journal_bytes(recorder->journal) : recorder->byte_count;
    stats->archive_bytes = recorder->archive_bytes;
    stats->own_cpu_ns = own_cpu_ns() - recorder->own_cpu_ns;
    if (recorder->naming) {
        stats->named_count = sn_naming_named(recorder->naming);
        stats->unnamed_count = sn_naming_unnamed(recorder->naming);
    }
}

void sonde_recorder_stats(const struct sonde_recorder *recorder,
                          struct sonde_record_stats *ret_stats)
{
    fill_stats((struct sonde_recorder *)recorder, ret_stats); /* the machine keeps its texts */
}

static int put_manifest(struct sonde_recorder *recorder, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(FACTS_LIMIT);
    struct sonde_record_stats stats;
    fill_stats(recorder, &stats);
    struct sn_manifest manifest = {
        .options = recorder->options,
        .stats = &stats,
        .start_utc_ns = recorder->start_utc_ns,
        .end_utc_ns = recorder->stop_ns ? recorder->start_utc_ns + stats.duration_ns : 0,
        .late_count = sn_road_late_count(sn_machine_road(recorder->machine)),
        .redactions = sn_machine_redactions(recorder->machine)};
    sn_record_manifest(&text, &manifest);
    return sn_journal_put(recorder->journal, "manifest.json", text.bytes, text.size, err);
}

static int put_system(struct sonde_recorder *recorder, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(FACTS_LIMIT);
    sn_record_system(&text);
    return sn_journal_put(recorder->journal, "system.json", text.bytes, text.size, err);
}

/* --- CPU time of processes whose runtimes sample --- */

static void keep_cpu_time(void *user, uint32_t pid)
{
    struct sonde_recorder *recorder = user;
    char member[32];
    char path[PATH_MAX];
    struct cpu *cpu = calloc(1, sizeof(*cpu));
    if (!cpu)
        return; /* samples then weigh the same */
    (void)snprintf(member, sizeof(member), "cpu/%" PRIu32, pid);
    (void)sn_journal_path(recorder->journal, member, path, sizeof(path));
    struct sn_loop *loop = sn_machine_loop(recorder->machine);
    if (sn_cpu_record_new(loop, pid, true, &cpu->record, NULL) != SONDE_OK ||
        sn_cpu_record_open(cpu->record, path, NULL) != SONDE_OK) {
        sn_cpu_record_free(cpu->record);
        free(cpu);
        return;
    }
    cpu->next = recorder->cpus;
    recorder->cpus = cpu;
}

static void end_cpu_records(struct sonde_recorder *recorder)
{
    while (recorder->cpus) {
        struct cpu *cpu = recorder->cpus;
        recorder->cpus = cpu->next;
        sn_cpu_record_stop(cpu->record);
        sn_cpu_record_free(cpu->record);
        free(cpu);
    }
}

/* --- the start --- */

static int open_journal(struct sonde_recorder *recorder, struct sonde_error *err)
{
    recorder->start_ns = sn_clock_monotonic_ns();
    recorder->start_utc_ns = sn_clock_utc_ns();
    struct sn_trace_info info = {.format_version = 6,
                                 .start_utc_ns = recorder->start_utc_ns,
                                 .start_ticks = recorder->start_ns,
                                 .ticks_per_second = SN_NS_PER_SECOND,
                                 .pointer_size = 8,
                                 .processor_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
                                 .sampling_interval_ns =
                                     SN_NS_PER_SECOND / recorder->options->frequency};
    int rc = sn_journal_new(recorder->journal_path, &info, &recorder->journal, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_sink *sink = sn_journal_sink(recorder->journal);
    if (!sink)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a journal");
    recorder->subscription =
        sn_road_subscribe(sn_machine_road(recorder->machine), &sn_everything, sink, true, err);
    return recorder->subscription < 0 ? recorder->subscription : SONDE_OK;
}

/* A recording that never began leaves nothing behind. */
static void remove_journal(const struct sonde_recorder *recorder)
{
    static const char *const members[] = {"trace.nettrace", "system.json", "manifest.json", ""};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", recorder->journal_path, members[i]);
        (void)remove(path);
    }
}

static int begin(struct sonde_recorder *recorder, struct sonde_error *err)
{
    int rc = choose_paths(recorder, err);
    if (rc == SONDE_OK)
        rc = open_journal(recorder, err);
    if (rc != SONDE_OK)
        return rc;
    rc = put_system(recorder, err);
    struct sonde_record_stats stats;
    sn_machine_stats(recorder->machine, &stats);
    if (stats.way == SONDE_RECORD_RUNTIME)
        sn_machine_on_runtime(recorder->machine, keep_cpu_time, recorder);
    if (rc == SONDE_OK)
        rc = sn_machine_start(recorder->machine, err);
    if (rc == SONDE_OK)
        rc = put_manifest(recorder, err);
    if (rc != SONDE_OK)
        remove_journal(recorder);
    return rc;
}

int sonde_recorder_new(const struct sonde_record_options *options,
                       struct sonde_recorder **ret_recorder, struct sonde_error *err)
{
    struct sonde_recorder *recorder = calloc(1, sizeof(*recorder));
    if (!recorder)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a recorder");
    recorder->own_cpu_ns = own_cpu_ns();
    int rc = sn_machine_new(options, &recorder->machine, err);
    if (rc == SONDE_OK) {
        recorder->options = sn_machine_options(recorder->machine);
        rc = begin(recorder, err);
    }
    if (rc != SONDE_OK) {
        sonde_recorder_free(recorder);
        return rc;
    }
    *ret_recorder = recorder;
    return SONDE_OK;
}

/* What is on the road still goes to the journal, which the schemas on it must outlive. */
void sonde_recorder_free(struct sonde_recorder *recorder)
{
    if (!recorder)
        return;
    end_cpu_records(recorder);
    if (recorder->journal && recorder->machine)
        (void)sn_road_finish(sn_machine_road(recorder->machine), NULL); /* as far as it goes */
    sn_packing_free(recorder->packing);
    sn_journal_free(recorder->journal);
    sn_naming_free(
        recorder->naming); /* kinds of events that it wrote are the journal's till then */
    sn_machine_free(recorder->machine);
    free(recorder->archive);
    free(recorder->journal_path);
    free(recorder);
}

/* --- the stages, a piece at a time --- */

int sonde_recorder_fd(const struct sonde_recorder *recorder)
{
    return sn_loop_fd(sn_machine_loop(recorder->machine));
}

int sonde_recorder_wait_ms(const struct sonde_recorder *recorder)
{
    return recorder->stage <= SONDE_RECORD_STOPPING
               ? sn_loop_wait_ms(sn_machine_loop(recorder->machine))
               : 0;
}

void sonde_recorder_stop(struct sonde_recorder *recorder)
{
    if (recorder->stage > SONDE_RECORD_STOPPING)
        return;
    if (!recorder->stop_ns)
        recorder->stop_ns = sn_clock_monotonic_ns();
    recorder->stage = SONDE_RECORD_STOPPING;
    sn_machine_stop(recorder->machine);
}

static int begin_naming(struct sonde_recorder *recorder, struct sonde_error *err)
{
    end_cpu_records(recorder);
    int rc = sn_road_finish(sn_machine_road(recorder->machine), err);
    if (rc != SONDE_OK)
        return rc;
    recorder->subscription = -1;
    recorder->stage = SONDE_RECORD_NAMING;
    struct sn_naming_options options = {.journal = recorder->journal,
                                        .objects = sn_machine_objects(recorder->machine),
                                        .perf_maps = sn_machine_perf_maps(recorder->machine),
                                        .with_lines = recorder->options->with_lines,
                                        .time_ns = sn_clock_monotonic_ns()};
    return sn_naming_new(&options, &recorder->naming, err);
}

/* The disk is full, or gone: there is nowhere left to write. */
static int check_journal(const struct sonde_recorder *recorder, struct sonde_error *err)
{
    struct sn_road *road = sn_machine_road(recorder->machine);
    const struct sn_subscription *own = sn_road_subscription(road, recorder->subscription);
    if (!own || !own->is_leaving)
        return SONDE_OK;
    int status = own->status;
    (void)sn_road_unsubscribe(road, recorder->subscription, err); /* says why */
    return status < 0 ? status : SONDE_E_SYSTEM;
}

static int turn_recording(struct sonde_recorder *recorder, struct sonde_error *err)
{
    int rc = sn_loop_turn(sn_machine_loop(recorder->machine), 0, err);
    if (rc == SONDE_OK)
        rc = sn_machine_tend(recorder->machine, err);
    if (rc == SONDE_OK)
        rc = check_journal(recorder, err);
    uint64_t now_ns = sn_clock_monotonic_ns();
    if (rc == SONDE_OK && now_ns >= recorder->flush_ns) {
        bool is_young = now_ns - recorder->start_ns < FIRST_NS;
        recorder->flush_ns = now_ns + (is_young ? FIRST_FLUSH_NS : FLUSH_EVERY_NS);
        rc = sn_journal_flush(recorder->journal, err);
    }
    if (rc != SONDE_OK)
        return rc;
    if (!recorder->stop_ns && (sn_machine_command_status(recorder->machine) >= 0 ||
                               sn_machine_is_deserted(recorder->machine)))
        sonde_recorder_stop(recorder);
    return sn_machine_is_done(recorder->machine) ? begin_naming(recorder, err) : SONDE_OK;
}

static void finish(struct sonde_recorder *recorder)
{
    struct stat status;
    if (!recorder->options->keep_journal && stat(recorder->archive, &status) == 0)
        recorder->archive_bytes = (uint64_t)status.st_size;
    recorder->done_ns = sn_clock_monotonic_ns();
    recorder->stage = SONDE_RECORD_DONE;
}

static int turn_naming(struct sonde_recorder *recorder, struct sonde_error *err)
{
    int rc = sn_naming_turn(recorder->naming, err);
    if (rc != SONDE_OK)
        return rc == SONDE_AGAIN ? SONDE_OK : rc;
    rc = put_manifest(recorder, err);
    if (rc == SONDE_OK)
        rc = sn_journal_finish(recorder->journal, err);
    if (rc != SONDE_OK)
        return rc;
    recorder->byte_count = sn_journal_bytes(recorder->journal);
    sn_journal_free(SN_TAKE(recorder->journal));
    if (recorder->options->keep_journal) {
        finish(recorder);
        return SONDE_OK;
    }
    recorder->stage = SONDE_RECORD_PACKING;
    return sn_packing_new(recorder->journal_path, recorder->archive, &recorder->packing, err);
}

static int turn_packing(struct sonde_recorder *recorder, struct sonde_error *err)
{
    uint64_t bytes = 0;
    int rc = sn_packing_turn(recorder->packing, &bytes, err);
    recorder->archive_bytes = bytes;
    if (rc == SONDE_OK)
        finish(recorder);
    return rc == SONDE_AGAIN ? SONDE_OK : rc;
}

int sonde_recorder_turn(struct sonde_recorder *recorder, struct sonde_error *err)
{
    switch (recorder->stage) {
    case SONDE_RECORD_RECORDING:
    case SONDE_RECORD_STOPPING: return turn_recording(recorder, err);
    case SONDE_RECORD_NAMING: return turn_naming(recorder, err);
    case SONDE_RECORD_PACKING: return turn_packing(recorder, err);
    default: return SONDE_OK;
    }
}

bool sonde_recorder_is_done(const struct sonde_recorder *recorder)
{
    return recorder->stage == SONDE_RECORD_DONE;
}

int sonde_recorder_command_status(const struct sonde_recorder *recorder)
{
    return sn_machine_command_status(recorder->machine);
}
