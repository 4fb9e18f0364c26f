#include "source/perf/rings.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "source/perf/cpus.h"

/* Events of threads times CPUs; each costs the kernel more than a kilobyte. */
#define EVENT_LIMIT 32768u

/* Events of one ring that carry less of the stack, since it was so full, do so this long. Doubled
 * when it is as full again right afterwards: each try could cost records. */
#define FULL_PART         2u
#define SHORTEST_PATIENCE SN_NS_PER_SECOND
#define LONGEST_PATIENCE  (16ull * SN_NS_PER_SECOND)

enum variant { ALWAYS, WHOLE, SHORT };

/* What makes records of different events fit into one ring. */
static void fill_in(const struct sn_rings *rings, struct perf_event_attr *attr)
{
    attr->size = sizeof(*attr);
    attr->sample_type |= SN_PERF_COMMON;
    attr->sample_id_all = 1;
    attr->disabled = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->watermark = 1;
    attr->wakeup_watermark = rings->options.kb * 1024 / 4; /* the rest is for when we are late */
}

void sn_rings_track(struct perf_event_attr *attr)
{
    attr->mmap = 1;
    attr->mmap2 = 1;
    attr->comm = 1;
    attr->comm_exec = 1;
    attr->task = 1;
}

static struct perf_event_attr owner_attr(const struct sn_rings *rings)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};
    fill_in(rings, &attr);
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    if (rings->options.is_machine_wide) {
        sn_rings_track(&attr);
        attr.context_switch = rings->options.with_switches;
    }
    return attr;
}

static bool raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static int open_event(const struct perf_event_attr *attr, pid_t pid, uint32_t cpu,
                      unsigned long flags)
{
    flags |= PERF_FLAG_FD_CLOEXEC;
    long fd = syscall(SYS_perf_event_open, attr, pid, (int)cpu, -1, flags);
    if (fd < 0 && errno == EMFILE && raise_descriptor_limit())
        fd = syscall(SYS_perf_event_open, attr, pid, (int)cpu, -1, flags);
    return (int)fd;
}

/* As the options and `tid` say whose it is; the owners of a ring without a machine are our own. */
static int open_for(const struct sn_rings *rings, const struct sn_rings_event *event, uint32_t cpu)
{
    const struct sn_rings_options *options = &rings->options;
    if (!options->is_machine_wide)
        return open_event(&event->attr, (pid_t)event->tid, cpu, 0);
    if (options->cgroup_fd >= 0 && !event->is_everybodys)
        return open_event(&event->attr, options->cgroup_fd, cpu, PERF_FLAG_PID_CGROUP);
    return open_event(&event->attr, -1, cpu, 0);
}

static int learn_kind(struct sn_rings *rings, int fd, unsigned kind, struct sonde_error *err)
{
    uint64_t id = 0;
    if (ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0)
        return sn_fail_errno(err, "cannot learn the number of an event of the kernel");
    uint64_t *slot = sn_table_put(&rings->kinds, id);
    if (!slot)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for another event of the kernel");
    *slot = kind;
    return SONDE_OK;
}

static int open_cpu(struct sn_rings *rings, uint32_t cpu, struct sonde_error *err)
{
    struct sn_rings_event owner = {.attr = owner_attr(rings)};
    SN_AUTO(sn_close) int fd = open_for(rings, &owner, cpu);
    if (fd < 0 && errno == ENODEV)
        return SONDE_OK; /* went offline meanwhile */
    if (fd < 0)
        return sn_fail_errno(err, "cannot open events of the kernel on CPU %u", (unsigned)cpu);
    int rc = learn_kind(rings, fd, SN_RINGS_OWNER_KIND, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_cpu_ring *mine = &rings->cpus[rings->cpu_count];
    rc = sn_ring_open(&mine->ring, fd, &rings->options.kb, err);
    if (rc != SONDE_OK)
        return rc;
    mine->cpu = cpu;
    mine->watch.fd = sn_take_fd(&fd);
    rings->cpu_count++;
    return SONDE_OK;
}

int sn_rings_open(struct sn_rings *rings, const struct sn_rings_options *options,
                  struct sonde_error *err)
{
    uint32_t cpus[SN_CPU_MAX];
    size_t count = sn_cpus_online(cpus);
    *rings = (struct sn_rings){.options = *options, .kinds = sn_table_with_limit(EVENT_LIMIT)};
    rings->layouts[SN_RINGS_OWNER_KIND].sample_type = SN_PERF_COMMON;
    rings->cpus = calloc(count, sizeof(*rings->cpus));
    rings->heap = calloc(count, sizeof(struct sn_cpu_ring *));
    if (!rings->cpus || !rings->heap)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the rings of %zu CPUs", count);
    for (size_t i = 0; i < count; i++) {
        int rc = open_cpu(rings, cpus[i], err);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

static void close_from(struct sn_rings *rings, size_t first)
{
    while (rings->open_count > first)
        sn_close(rings->open[--rings->open_count].fd);
}

void sn_rings_close(struct sn_rings *rings)
{
    close_from(rings, 0);
    for (size_t i = 0; i < rings->cpu_count; i++) {
        sn_loop_unwatch(&rings->cpus[i].watch);
        sn_ring_close(&rings->cpus[i].ring);
        sn_close(rings->cpus[i].watch.fd);
    }
    sn_table_done(&rings->kinds);
    free(rings->open);
    free(rings->heap);
    free(rings->cpus);
    *rings = (struct sn_rings){0};
}

static int keep_fd(struct sn_rings *rings, struct sn_rings_open kept, int *fd,
                   struct sonde_error *err)
{
    struct sn_rings_open *open =
        sn_array_room(rings->open, rings->open_count, &rings->open_capacity, sizeof(*open));
    if (!open)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for another event of the kernel");
    rings->open = open;
    kept.fd = sn_take_fd(fd);
    open[rings->open_count++] = kept;
    return SONDE_OK;
}

/* Whether an event is one of those that speak at the moment. */
static bool is_on(const struct sn_rings *rings, const struct sn_rings_open *open)
{
    bool is_short = rings->cpus[open->ring].is_short;
    return rings->is_enabled && (open->variant == ALWAYS || (open->variant == SHORT) == is_short);
}

static int add_on(struct sn_rings *rings, struct sn_rings_open place,
                  const struct sn_rings_event *event, struct sonde_error *err)
{
    const struct sn_cpu_ring *on = &rings->cpus[place.ring];
    SN_AUTO(sn_close) int fd = open_for(rings, event, on->cpu);
    if (fd < 0 && errno == ENODEV)
        return SONDE_OK;
    if (fd < 0)
        return sn_fail_errno(err, "cannot open an event of the kernel on CPU %u",
                             (unsigned)on->cpu);
    if (event->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, event->filter) != 0)
        return sn_fail_errno(err, "the kernel does not take the filter '%s'", event->filter);
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, on->watch.fd) != 0)
        return sn_fail_errno(err, "cannot lead an event into the ring of CPU %u",
                             (unsigned)on->cpu);
    int rc = learn_kind(rings, fd, event->kind, err);
    if (rc != SONDE_OK)
        return rc;
    if (is_on(rings, &place))
        (void)ioctl(fd, PERF_EVENT_IOC_ENABLE, 0); /* fails for threads that have ended only */
    return keep_fd(rings, place, &fd, err);
}

static int add_variant(struct sn_rings *rings, const struct sn_rings_event *event,
                       enum variant variant, struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (uint32_t i = 0; i < rings->cpu_count && rc == SONDE_OK; i++)
        rc = add_on(
            rings,
            (struct sn_rings_open){.owner = event->owner, .ring = i, .variant = (uint8_t)variant},
            event, err);
    return rc;
}

int sn_rings_add(struct sn_rings *rings, const struct sn_rings_event *event,
                 struct sonde_error *err)
{
    size_t before = rings->open_count;
    struct sn_rings_event whole = *event;
    fill_in(rings, &whole.attr);
    rings->layouts[whole.kind] = (struct sn_perf_layout){.sample_type = whole.attr.sample_type,
                                                         .user_regs = whole.attr.sample_regs_user};
    bool has_short = event->short_stack && event->short_stack < event->attr.sample_stack_user;
    int rc = add_variant(rings, &whole, has_short ? WHOLE : ALWAYS, err);
    if (rc == SONDE_OK && has_short) {
        rings->has_short = true;
        whole.attr.sample_stack_user = event->short_stack;
        rc = add_variant(rings, &whole, SHORT, err);
    }
    if (rc != SONDE_OK)
        close_from(rings, before);
    return rc;
}

void sn_rings_close_others(struct sn_rings *rings, const struct sn_table *owners)
{
    size_t kept = 0;
    for (size_t i = 0; i < rings->open_count; i++) {
        const struct sn_rings_open *open = &rings->open[i];
        uint64_t id = 0;
        if (!open->owner || sn_table_find(owners, open->owner)) {
            rings->open[kept++] = *open;
            continue;
        }
        if (ioctl(open->fd, PERF_EVENT_IOC_ID, &id) == 0)
            sn_table_remove(&rings->kinds, id);
        sn_close(open->fd);
    }
    rings->open_count = kept;
}

static void set(const struct sn_rings *rings, const struct sn_rings_open *open)
{
    unsigned long request = is_on(rings, open) ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
    (void)ioctl(open->fd, request, 0); /* fails for threads that have ended only */
}

static void set_all(const struct sn_rings *rings)
{
    unsigned long request = rings->is_enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
    for (size_t i = 0; i < rings->cpu_count; i++)
        (void)ioctl(rings->cpus[i].watch.fd, request, 0); /* cannot fail on an open event */
    for (size_t i = 0; i < rings->open_count; i++)
        set(rings, &rings->open[i]);
}

void sn_rings_enable(struct sn_rings *rings)
{
    rings->is_enabled = true;
    set_all(rings);
}

void sn_rings_disable(struct sn_rings *rings)
{
    rings->is_enabled = false;
    set_all(rings);
}

/* The one that is to speak begins before the other ends: a record twice is no harm. */
static void turn(struct sn_rings *rings, uint32_t index, bool is_short, uint64_t now_ns)
{
    struct sn_cpu_ring *ring = &rings->cpus[index];
    if (!is_short)
        ring->short_ns += now_ns - ring->turned_ns;
    ring->is_short = is_short;
    ring->turned_ns = now_ns;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < rings->open_count; i++) {
            const struct sn_rings_open *open = &rings->open[i];
            if (open->ring == index && open->variant != ALWAYS && is_on(rings, open) == !pass)
                set(rings, open);
        }
    }
}

static void mind_fill(struct sn_rings *rings, uint32_t index, uint64_t now_ns)
{
    struct sn_cpu_ring *ring = &rings->cpus[index];
    uint64_t age_ns = now_ns - ring->turned_ns;
    if (ring->is_short && age_ns >= ring->patience_ns) {
        turn(rings, index, false, now_ns);
    } else if (!ring->is_short &&
               ring->ring.head - ring->ring.tail > ring->ring.data_size / FULL_PART) {
        bool is_again = ring->turned_ns && age_ns < SHORTEST_PATIENCE;
        ring->patience_ns = is_again ? 2 * ring->patience_ns : SHORTEST_PATIENCE;
        if (ring->patience_ns > LONGEST_PATIENCE)
            ring->patience_ns = LONGEST_PATIENCE;
        turn(rings, index, true, now_ns);
    }
}

uint64_t sn_rings_short_ns(const struct sn_rings *rings, uint64_t now_ns)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < rings->cpu_count; i++) {
        const struct sn_cpu_ring *ring = &rings->cpus[i];
        sum_ns += ring->short_ns + (ring->is_short ? now_ns - ring->turned_ns : 0);
    }
    return sum_ns;
}

/* Finds the ring's next record that tells event and time. */
static bool fetch(struct sn_rings *rings, struct sn_cpu_ring *from)
{
    while ((from->next = sn_ring_peek(&from->ring, &from->next_size)) != NULL) {
        if (sn_perf_record_peek(from->next, from->next_size, &from->next_id, &from->next_time_ns))
            return true;
        rings->damaged_count++;
        sn_ring_pass(&from->ring);
    }
    return false;
}

/* Lets the ring at the heap's top sink to where its next record belongs. */
static void sift_down(struct sn_rings *rings, size_t at)
{
    struct sn_cpu_ring **heap = rings->heap;
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < rings->heap_count; child++) {
            if (heap[child]->next_time_ns < heap[least]->next_time_ns)
                least = child;
        }
        if (least == at)
            return;
        struct sn_cpu_ring *moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

static void hand_out(struct sn_rings *rings, const struct sn_cpu_ring *from, sn_rings_fn *take,
                     void *user)
{
    struct sn_perf_record record;
    const uint64_t *kind = sn_table_find(&rings->kinds, from->next_id);
    if (kind && sn_perf_record_decode(from->next, from->next_size, &rings->layouts[*kind], &record,
                                      NULL) == SONDE_OK)
        take(user, (unsigned)*kind, &record);
    else
        rings->damaged_count++;
}

void sn_rings_drain(struct sn_rings *rings, uint64_t until_ns, sn_rings_fn *take, void *user)
{
    rings->heap_count = 0;
    for (size_t i = 0; i < rings->cpu_count; i++) {
        sn_ring_look(&rings->cpus[i].ring);
        if (rings->is_enabled && rings->has_short)
            mind_fill(rings, (uint32_t)i, until_ns);
        if (fetch(rings, &rings->cpus[i]))
            rings->heap[rings->heap_count++] = &rings->cpus[i];
    }
    for (size_t i = rings->heap_count / 2; i-- > 0;)
        sift_down(rings, i);
    while (rings->heap_count && rings->heap[0]->next_time_ns <= until_ns) {
        struct sn_cpu_ring *oldest = rings->heap[0];
        hand_out(rings, oldest, take, user);
        sn_ring_pass(&oldest->ring);
        if (!fetch(rings, oldest))
            rings->heap[0] = rings->heap[--rings->heap_count];
        sift_down(rings, 0);
    }
}

uint64_t sn_rings_damaged(const struct sn_rings *rings)
{
    uint64_t count = rings->damaged_count;
    for (size_t i = 0; i < rings->cpu_count; i++)
        count += rings->cpus[i].ring.broken_count;
    return count;
}
