/* Reads a process whose memory lies: some of its words are something else than they are, for good
 * or each time that they are read, and some pages are not there. Everything that is read of objects
 * must end, in bounded time and memory, whatever it finds:
 *
 *   interop_faults PID FIRST COUNT
 *
 * Looks COUNT times, each time with other lies, from number FIRST on. Prints "RUNS OBJECTS LOCKS
 * CHAINS SLOWEST_MS MOST_MB". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "sonde/error.h"
#include "source/memory/locks.h"
#include "source/memory/memory.h"
#include "source/memory/object_index.h"
#include "source/memory/pending_tasks.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/thread_pool.h"
#include "source/memory/type_system.h"

struct liar {
    struct sn_memory *truth;
    uint64_t seed;
    uint64_t rate;    /* one word of so many is a lie */
    uint64_t reads;   /* so far */
    bool is_changing; /* another one each time */
    bool has_begun;   /* before, all is true: there is to be something to read */
};

struct sums {
    uint64_t runs, objects, locks, chains, slowest_ns;
};

static uint64_t mix(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xFF51AFD7ED558CCDull;
    value ^= value >> 33;
    value *= 0xC4CEB9FE1A85EC53ull;
    return value ^ value >> 33;
}

static uint64_t lie_at(uint64_t dice, uint64_t address, uint64_t word)
{
    switch (dice % 9) {
    case 0: return 0;
    case 1: return UINT64_MAX;
    case 2: return dice;
    case 3: return address;                /* points to itself */
    case 4: return address - (dice >> 40); /* or near itself */
    case 5: return word ^ 1ull << (dice >> 58);
    case 6: return 0x7FFFFFFF;
    case 7: return (word & ~0xFFFFFFFFull) | dice >> 32;
    default: return word + 8;
    }
}

static size_t read_lies(void *user, uint64_t address, void *to, size_t size)
{
    struct liar *liar = user;
    uint8_t *bytes = to;
    size_t got = sn_memory_read_now(liar->truth, address, to, size);
    if (!liar->has_begun)
        return got;
    uint64_t turn = liar->is_changing ? ++liar->reads : 0;
    if (mix(liar->seed ^ address >> 12 ^ turn << 40) % (liar->rate * 64) == 0)
        return 0;
    for (size_t i = (8 - address % 8) % 8; i + 8 <= got; i += 8) {
        uint64_t dice = mix(liar->seed ^ mix(address + i) ^ turn);
        uint64_t word;
        if (dice % liar->rate)
            continue;
        memcpy(&word, bytes + i, sizeof(word));
        word = lie_at(mix(dice), address + i, word);
        memcpy(bytes + i, &word, sizeof(word));
    }
    return got;
}

static void read_objects(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                         struct sums *sums)
{
    struct sonde_error err = {0};
    struct sn_object_index *index = NULL;
    struct sn_managed_thread *managed = NULL;
    struct sn_lock_list locks;
    struct sn_task_list tasks;
    struct sn_thread_pool pool;
    size_t count = 0;
    bool is_partial;
    (void)sn_runtime_memory_threads(runtime, &managed, &count, &is_partial, &err); /* or none */
    struct sn_lock_thread *threads = calloc(count + 1, sizeof(*threads));
    for (size_t i = 0; threads && i < count; i++)
        threads[i] = (struct sn_lock_thread){.thread = &managed[i]};
    if (threads && sn_object_index_read(runtime, types, 0, &index, &err) == SONDE_OK) {
        sums->objects += sn_object_index_facts(index)->objects;
        if (sn_tasks_read(runtime, types, index, &tasks, &err) == SONDE_OK) {
            sums->chains += tasks.count;
            sn_tasks_done(&tasks);
        }
        sn_thread_pool_read(runtime, types, index, &pool);
    }
    if (threads && sn_locks_read(runtime, types, index, threads, count, &locks) == SONDE_OK) {
        sums->locks += locks.count;
        sn_locks_done(&locks);
    }
    sn_object_index_free(index);
    free(threads);
    free(managed);
}

static void run(struct sn_memory *truth, uint64_t seed, struct sums *sums)
{
    static const uint64_t rates[] = {16, 64, 256, 1024, 4096, 65536};
    struct liar liar = {.truth = truth,
                        .seed = mix(seed),
                        .rate = rates[seed / 4 % (sizeof(rates) / sizeof(*rates))],
                        .is_changing = seed % 2};
    struct sn_memory_source source = {.read = read_lies, .user = &liar};
    struct sn_memory *memory = NULL;
    struct sn_runtime_memory *runtime = NULL;
    struct sn_type_system *types = NULL;
    struct sonde_error err = {0};
    uint64_t start = sn_clock_monotonic_ns();
    liar.has_begun = seed % 4 == 3; /* one in four lies from the first byte on */
    if (sn_memory_of_source(&source, sn_memory_map_at(truth, 0), sn_memory_map_count(truth),
                            &memory, &err) == SONDE_OK &&
        sn_runtime_memory_open(memory, &runtime, &err) == SONDE_OK &&
        sn_type_system_new(runtime, &types, &err) == SONDE_OK) {
        liar.has_begun = true;
        sn_memory_forget(runtime->memory);
        read_objects(runtime, types, sums);
    }
    sn_type_system_free(types);
    sn_runtime_memory_free(runtime);
    uint64_t took = sn_clock_monotonic_ns() - start;
    sums->slowest_ns = took > sums->slowest_ns ? took : sums->slowest_ns;
    sums->runs++;
}

int main(int argc, char **argv)
{
    struct sonde_error err = {0};
    struct sn_memory *truth = NULL;
    struct sums sums = {0};
    struct rusage usage;
    if (argc != 4 ||
        sn_memory_of_process((uint32_t)strtoul(argv[1], NULL, 10), &truth, &err) != SONDE_OK) {
        fprintf(stderr, "%s\n", argc == 4 ? err.text : "usage: interop_faults PID FIRST COUNT");
        return 2;
    }
    uint64_t first = strtoull(argv[2], NULL, 10);
    uint64_t count = strtoull(argv[3], NULL, 10);
    for (uint64_t i = 0; i < count; i++)
        run(truth, first + i, &sums);
    sn_memory_free(truth);
    getrusage(RUSAGE_SELF, &usage);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %ld\n", sums.runs,
           sums.objects, sums.locks, sums.chains, sums.slowest_ns / SN_NS_PER_MS,
           usage.ru_maxrss / 1024);
    return 0;
}
