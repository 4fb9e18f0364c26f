/* Drives a store for the tests.
 *
 *   integration_store kill FOLDER COUNT            kills a writer COUNT times, looks what is left
 *   integration_store replay FOLDER TARGETS SECONDS
 *                                                  puts in what so many processes tell in that time
 *   integration_store fill FOLDER SECONDS          writes until it may not, and when it may again
 *   integration_store past FOLDER PID SECONDS      puts in a process that ended a minute ago after
 * so many seconds, with the requests of two routes
 *
 * Prints "key=value" lines; exits 1 when something acknowledged is not there. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "sink/store/store.h"

#define START_NS    1700000000000000000u
#define SERIES      7u
#define LOOK_BACK   1500u /* numbers that each life of the writer looks at */
#define NUMBERS_MAX (64u << 20)
#define RECORDINGS  5u /* every so many commits */
#define DEADLINE_MS 20000

static void die(const char *what, const struct sonde_error *err)
{
    (void)fprintf(stderr, "%s: %s\n", what, err ? err->text : "");
    exit(1);
}

static struct sn_store *open_store(const char *folder)
{
    const struct sn_store_options options = {.folder = folder, .age_max_ns = UINT64_MAX};
    struct sn_store *store = NULL;
    struct sonde_error err = {0};
    if (sn_store_open(&options, &store, &err) != SONDE_OK)
        die("open", &err);
    struct sn_store_health health;
    sn_store_health(store, &health);
    if (health.set_aside[0] || health.damaged_count || health.dropped_count)
        die(health.set_aside[0] ? "set aside" : "damaged or dropped", NULL);
    return store;
}

static int64_t add_process(struct sn_store *store, uint32_t pid, const char *name)
{
    const struct sn_store_process process = {
        .pid = pid, .start_ticks = 17, .name = name, .runtime = "10.0.1", .user = "web"};
    struct sonde_error err = {0};
    int64_t id = 0;
    if (sn_store_process(store, &process, &id, &err) != SONDE_OK)
        die("process", &err);
    return id;
}

static struct sonde_point made_point(const char *provider, const char *counter, uint64_t utc_ns,
                                     double value)
{
    return (struct sonde_point){.origin = SONDE_POINT_EVENT_COUNTER,
                                .kind = SONDE_POINT_GAUGE,
                                .provider = provider,
                                .version = "",
                                .name = counter,
                                .display_name = counter,
                                .unit = "",
                                .description = "",
                                .tag_text = "",
                                .utc_ns = utc_ns,
                                .value = value};
}

/* --- what is there --- */

struct ledger {
    uint8_t *times; /* how often each number came */
    uint64_t next;  /* behind the highest */
};

static bool enter(void *user, const struct sn_store_sample *sample)
{
    struct ledger *ledger = user;
    uint64_t number = (uint64_t)sample->value;
    if (sample->utc_ns != START_NS + number * SN_NS_PER_SECOND || number >= NUMBERS_MAX)
        die("a point is not what it was", NULL);
    ledger->times[number]++;
    if (number >= ledger->next)
        ledger->next = number + 1;
    return true;
}

/* Every number from `first` that was acknowledged is there once; the next one that is free. */
static uint64_t check_numbers(struct sn_store *store, uint64_t first, uint64_t acknowledged)
{
    struct ledger ledger = {.times = calloc(NUMBERS_MAX, 1), .next = acknowledged};
    const struct sn_store_query query = {
        .from_ns = START_NS + first * SN_NS_PER_SECOND, .to_ns = UINT64_MAX, .limit = NUMBERS_MAX};
    struct sonde_error err = {0};
    if (!ledger.times || sn_store_history(store, &query, enter, &ledger, &err) != SONDE_OK)
        die("history", &err);
    for (uint64_t number = first; number < ledger.next; number++) {
        if (ledger.times[number] == 1)
            continue;
        (void)fprintf(stderr, "number %" PRIu64 " of %" PRIu64 " is there %u times\n", number,
                      acknowledged, ledger.times[number]);
        exit(1);
    }
    free(ledger.times);
    return ledger.next;
}

struct recordings {
    uint64_t ended;
    uint64_t running;
    uint64_t failed;
};

static bool count_recording(void *user, const struct sn_store_recording *recording)
{
    struct recordings *recordings = user;
    recordings->ended += strcmp(recording->state, "Succeeded") == 0;
    recordings->running += strcmp(recording->state, "Running") == 0;
    recordings->failed += strcmp(recording->state, "Failed") == 0;
    return true;
}

static struct recordings count_recordings(struct sn_store *store)
{
    struct recordings recordings = {0};
    struct sonde_error err = {0};
    if (sn_store_recordings(store, NULL, count_recording, &recordings, &err) != SONDE_OK)
        die("recordings", &err);
    return recordings;
}

/* --- a writer that is killed --- */

struct progress {
    uint64_t acknowledged; /* numbers */
    uint64_t ended;        /* recordings */
};

static void put_recording(struct sn_store *store, uint64_t number, bool has_ended)
{
    char id[40];
    (void)snprintf(id, sizeof(id), "r%" PRIu64, number);
    const struct sn_store_recording recording = {.id = id,
                                                 .kind = "trace",
                                                 .state = has_ended ? "Succeeded" : "Running",
                                                 .created_utc_ns = START_NS + number,
                                                 .ended_utc_ns =
                                                     has_ended ? START_NS + number + 1 : 0};
    struct sonde_error err = {0};
    if (sn_store_recording_put(store, &recording, &err) != SONDE_OK)
        die("recording", &err);
}

/* Until it is killed. Everything that it tells was acknowledged before. */
static void write_for_ever(const char *folder, struct progress progress, int to)
{
    static const char *const counters[SERIES] = {"a", "b", "c", "d", "e", "f", "g"};
    struct sn_store *store = open_store(folder);
    uint64_t first = progress.acknowledged > LOOK_BACK ? progress.acknowledged - LOOK_BACK : 0;
    uint64_t number = check_numbers(store, first, progress.acknowledged);
    if (count_recordings(store).running)
        die("a recording of an earlier life runs", NULL);
    const int64_t processes[2] = {add_process(store, 10, "shop"), add_process(store, 20, "desk")};
    for (uint64_t commits = 1;; commits++) {
        for (uint64_t end = number + 1 + commits % 9; number < end; number++) {
            struct sonde_point point =
                made_point("System.Runtime", counters[number % SERIES],
                           START_NS + number * SN_NS_PER_SECOND, (double)number);
            if (sn_store_point(store, processes[number / 3 % 2], &point, NULL) != SONDE_OK)
                die("point", NULL);
        }
        bool is_recording = commits % RECORDINGS == 0;
        if (is_recording)
            put_recording(store, number, false);
        if (commits % (2 * RECORDINGS) == 0) {
            put_recording(store, number, true);
            progress.ended++;
        } else if (sn_store_commit(store, NULL) != SONDE_OK) {
            die("commit", NULL);
        }
        progress.acknowledged = number;
        if (write(to, &progress, sizeof(progress)) != (ssize_t)sizeof(progress))
            exit(1);
    }
}

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    return poll(&wanted, 1, timeout_ms) > 0;
}

/* One life. False: it died of itself. */
static bool live_and_die(const char *folder, unsigned round, struct progress *progress)
{
    int ends[2];
    if (pipe(ends) != 0)
        die("pipe", NULL);
    pid_t child = fork();
    if (child < 0)
        die("fork", NULL);
    if (!child) {
        (void)close(ends[0]);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        write_for_ever(folder, *progress, ends[1]);
    }
    (void)close(ends[1]);
    /* One in four dies while it opens, the rest somewhere in its work. */
    if (round % 4)
        (void)is_readable(ends[0], DEADLINE_MS);
    (void)usleep((useconds_t)((round * 2654435761u >> 8) % 8000));
    (void)kill(child, SIGKILL);
    struct progress said;
    while (read(ends[0], &said, sizeof(said)) == (ssize_t)sizeof(said))
        *progress = said;
    (void)close(ends[0]);
    int status = 0;
    (void)waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static int run_kill(const char *folder, unsigned count)
{
    struct progress progress = {0};
    for (unsigned round = 0; round < count; round++) {
        if (!live_and_die(folder, round, &progress)) {
            (void)printf("failed in round %u\n", round);
            return 1;
        }
        if (progress.acknowledged > NUMBERS_MAX - 65536)
            die("more numbers than this test has room for", NULL);
    }
    struct sn_store *store = open_store(folder);
    (void)check_numbers(store, 0, progress.acknowledged);
    struct recordings recordings = count_recordings(store);
    if (recordings.ended < progress.ended || recordings.running)
        die("recordings are lost", NULL);
    sn_store_close(store);
    (void)printf("killed=%u acknowledged=%" PRIu64 " recordings=%" PRIu64 " failed=%" PRIu64 "\n",
                 count, progress.acknowledged, recordings.ended, recordings.failed);
    return 0;
}

/* --- a day of many processes --- */

static const char *const runtime_counters[] = {"cpu-usage",
                                               "working-set",
                                               "gc-heap-size",
                                               "gen-0-gc-count",
                                               "gen-1-gc-count",
                                               "gen-2-gc-count",
                                               "threadpool-thread-count",
                                               "monitor-lock-contention-count",
                                               "threadpool-queue-length",
                                               "threadpool-completed-items-count",
                                               "alloc-rate",
                                               "active-timer-count",
                                               "gc-fragmentation",
                                               "exception-count",
                                               "time-in-gc",
                                               "gen-0-size",
                                               "loh-size",
                                               "assembly-count",
                                               "il-bytes-jitted",
                                               "methods-jitted-count"};
#define COUNTERS (sizeof(runtime_counters) / sizeof(runtime_counters[0]))

/* Some stand still, some count, some go up and down, some are noise: as they do. */
static double value_of(unsigned counter, uint32_t target, uint64_t second)
{
    uint64_t mixed =
        (second * 2654435761u + target * 40503u + counter * 9973u) * 0x9E3779B97F4A7C15u;
    switch (counter % 5) {
    case 0: return (double)(mixed >> 40) / 167772.16;
    case 1: return (double)(200000000 + (mixed >> 48) * 4096);
    case 2: return (double)(second / (20 + target % 40));
    case 3: return (double)((mixed >> 60) + target % 16);
    default: return target % 3;
    }
}

static uint64_t resident_kb(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file)
        (void)fclose(file);
    return (uint64_t)pages * 4;
}

static int run_replay(const char *folder, unsigned targets, uint64_t seconds)
{
    struct sn_store *store = open_store(folder);
    int64_t *ids = calloc(targets, sizeof(*ids));
    uint64_t early_kb = 0;
    uint64_t start_ns = sn_clock_monotonic_ns();
    for (uint32_t target = 0; ids && target < targets; target++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "service%u", target);
        ids[target] = add_process(store, 1000 + target, name);
    }
    for (uint64_t second = 0; ids && second < seconds; second++) {
        struct sonde_error err = {0};
        for (uint32_t target = 0; target < targets; target++) {
            uint64_t utc_ns = START_NS + second * SN_NS_PER_SECOND + target * SN_NS_PER_MS;
            for (unsigned counter = 0; counter < COUNTERS; counter++) {
                struct sonde_point point = made_point("System.Runtime", runtime_counters[counter],
                                                      utc_ns, value_of(counter, target, second));
                if (sn_store_point(store, ids[target], &point, &err) != SONDE_OK)
                    die("point", &err);
            }
        }
        if (sn_store_commit(store, &err) != SONDE_OK)
            die("commit", &err);
        bool has_more;
        if (second % 60 == 0)
            (void)sn_store_sweep(store, START_NS, &has_more, NULL);
        if (second == seconds / 4)
            early_kb = resident_kb();
    }
    struct sn_store_health health;
    struct rusage usage;
    bool has_more;
    (void)sn_store_sweep(store, START_NS, &has_more, NULL);
    sn_store_health(store, &health);
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("points=%" PRIu64 " bytes=%" PRIu64 " dropped=%" PRIu64 " early_kb=%" PRIu64
                 " late_kb=%" PRIu64 " wall_ms=%" PRIu64 " cpu_ms=%ld\n",
                 (uint64_t)targets * seconds * COUNTERS, health.bytes, health.dropped_count,
                 early_kb, resident_kb(), (sn_clock_monotonic_ns() - start_ns) / SN_NS_PER_MS,
                 usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000 +
                     usage.ru_stime.tv_sec * 1000 + usage.ru_stime.tv_usec / 1000);
    sn_store_close(store);
    free(ids);
    return 0;
}

/* --- a disk that is full for a while --- */

/* A point and a commit every few milliseconds; says when that changes between well and degraded. */
static int run_fill(const char *folder, uint64_t seconds)
{
    const struct sn_store_options options = {.folder = folder, .age_max_ns = UINT64_MAX};
    struct sn_store *store = NULL;
    struct sonde_error err = {0};
    if (sn_store_open(&options, &store, &err) != SONDE_OK)
        die("open", &err);
    int64_t shop = add_process(store, 10, "shop");
    bool was_degraded = false;
    uint64_t number = 0;
    uint64_t acknowledged = 0;
    uint64_t end_ns = sn_clock_deadline(seconds * SN_NS_PER_SECOND);
    while (sn_clock_monotonic_ns() < end_ns && !is_readable(STDIN_FILENO, 2)) {
        struct sonde_point point =
            made_point("System.Runtime", "a", START_NS + number * SN_NS_PER_SECOND, (double)number);
        if (sn_store_point(store, shop, &point, NULL) == SONDE_OK)
            number++;
        if (sn_store_commit(store, NULL) == SONDE_OK)
            acknowledged = number;
        struct sn_store_health health;
        sn_store_health(store, &health);
        if (health.is_degraded != was_degraded)
            (void)printf("%s %s\n", health.is_degraded ? "degraded" : "well", health.why);
        (void)fflush(stdout);
        was_degraded = health.is_degraded;
    }
    sn_store_close(store);
    store = open_store(folder);
    (void)check_numbers(store, 0, acknowledged);
    (void)printf("acknowledged=%" PRIu64 "\n", acknowledged);
    sn_store_close(store);
    return 0;
}

/* --- a process that was --- */

static void put_requests(struct sn_store *store, int64_t process, const char *route,
                         uint64_t utc_ns, uint64_t count, double mean)
{
    struct sonde_error err = {0};
    struct sonde_point point =
        made_point("Microsoft.AspNetCore.Hosting", "http.server.request.duration", utc_ns, NAN);
    const struct sonde_quantile quantiles[] = {{0.5, mean}, {0.95, 2 * mean}, {0.99, 3 * mean}};
    point.kind = SONDE_POINT_HISTOGRAM;
    point.unit = "s";
    point.tag_text = route;
    point.interval_ns = SN_NS_PER_SECOND;
    point.count = count;
    point.sum = mean * (double)count;
    point.quantiles = quantiles;
    point.quantile_count = count ? 3 : 0;
    if (sn_store_point(store, process, &point, &err) != SONDE_OK)
        die("point", &err);
}

/* One route is quick and asked all the time, the other slow and asked now and then. */
static int make_past(const char *folder, uint32_t pid, uint64_t seconds)
{
    struct sn_store *store = open_store(folder);
    int64_t shop = add_process(store, pid, "past");
    struct sonde_error err = {0};
    uint64_t start_ns = sn_clock_utc_ns() - (seconds + 60) * SN_NS_PER_SECOND;
    for (uint64_t second = 0; second < seconds; second++) {
        uint64_t utc_ns = start_ns + second * SN_NS_PER_SECOND;
        struct sonde_point cpu = made_point("process", "process.cpu.usage", utc_ns, 0.5);
        if (sn_store_point(store, shop, &cpu, &err) != SONDE_OK)
            die("point", &err);
        put_requests(store, shop, "http.request.method=GET,http.route=/quick", utc_ns,
                     90 + second % 7, 0.001 + 0.00001 * (double)(second % 13));
        put_requests(store, shop, "http.request.method=GET,http.route=/slow", utc_ns,
                     second % 5 == 0, 0.5 + 0.01 * (double)(second % 3));
    }
    if (sn_store_commit(store, &err) != SONDE_OK)
        die("commit", &err);
    sn_store_close(store);
    (void)printf("points=%" PRIu64 "\n", 3 * seconds);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t first = 0;
    uint64_t second = 0;
    bool is_good = argc >= 4 && sn_text_to_u64(argv[3], UINT32_MAX, &first) &&
                   (argc < 5 || sn_text_to_u64(argv[4], UINT32_MAX, &second));
    if (is_good && strcmp(argv[1], "kill") == 0)
        return run_kill(argv[2], (unsigned)first);
    if (is_good && strcmp(argv[1], "replay") == 0 && second)
        return run_replay(argv[2], (unsigned)first, second);
    if (is_good && strcmp(argv[1], "fill") == 0)
        return run_fill(argv[2], first);
    if (is_good && strcmp(argv[1], "past") == 0 && second)
        return make_past(argv[2], (uint32_t)first, second);
    (void)fprintf(stderr, "usage: integration_store kill|replay|fill|past FOLDER ...\n");
    return 2;
}
