#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/file.h"
#include "source/perf/kernel_source.h"

#define MAX_RATE_FILE "/proc/sys/kernel/perf_event_max_sample_rate"

static struct sn_rings_event sampler(const struct sn_kernel *kernel, uint32_t tid)
{
    struct sn_rings_event event = {
        .kind = SN_KIND_CPU, .tid = tid, .owner = tid ? kernel->own.last_root : 0};
    struct perf_event_attr *attr = &event.attr;
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_CPU_CLOCK;
    attr->freq = 1;
    attr->sample_freq = kernel->options.frequency;
    attr->sample_type = SN_PERF_CALLCHAIN | SN_PERF_REGS_USER | SN_PERF_STACK_USER;
    attr->sample_regs_user = SN_STACK_USER_REGS;
    attr->sample_stack_user =
        sn_stack_user_bytes(kernel->rings.options.kb, kernel->options.frequency);
    attr->exclude_idle = 1;
    if (tid) {
        attr->exclude_kernel = 1;
        attr->exclude_hv = 1;
        attr->inherit = 1;
        sn_rings_track(attr);
        attr->context_switch = kernel->options.with_switches;
    }
    return event;
}

/* False: this machine has no counters, or they are not for us. */
static bool opens_hardware(struct sn_kernel *kernel, uint32_t tid)
{
    struct sn_rings_event event = sampler(kernel, tid);
    event.attr.type = PERF_TYPE_HARDWARE;
    event.attr.config = PERF_COUNT_HW_CPU_CYCLES;
    return sn_rings_add(&kernel->rings, &event, NULL) == SONDE_OK;
}

static int check_rate(uint32_t frequency, struct sonde_error *err)
{
    char text[32];
    if (sn_file_peek_at(AT_FDCWD, MAX_RATE_FILE, text, sizeof(text)) <= 0)
        return SONDE_OK;
    unsigned long most = strtoul(text, NULL, 10);
    if (frequency <= most)
        return SONDE_OK;
    return sn_fail(err, SONDE_E_ARGUMENT, 0,
                   "%u samples a second are more than this kernel takes: at most %lu "
                   "(kernel.perf_event_max_sample_rate)",
                   (unsigned)frequency, most);
}

int sn_cpu_samples_open(struct sn_kernel *kernel, uint32_t tid, struct sonde_error *err)
{
    int rc = check_rate(kernel->options.frequency, err);
    if (rc != SONDE_OK)
        return rc;
    if (kernel->options.with_hardware) {
        kernel->state.sampler = "cycles";
        if (opens_hardware(kernel, tid))
            return SONDE_OK;
        kernel->options.with_hardware = false;
    }
    struct sn_rings_event event = sampler(kernel, tid);
    kernel->state.sampler = "cpu-clock";
    return sn_rings_add(&kernel->rings, &event, err);
}

void sn_cpu_samples_take(struct sn_kernel *kernel, const struct sn_perf_record *record)
{
    struct sn_task *task = sn_tasks_meet(kernel->tasks, record->pid, record->time_ns);
    if (!task)
        return;
    struct sn_stack *stack = &kernel->stack;
    struct sn_outlet_at at = {
        .time_ns = record->time_ns, .pid = record->pid, .tid = record->tid, .cpu = record->cpu};
    struct sn_universal_fields fields = {.numbers = {1}};
    sn_stack_build(stack, task, record);
    kernel->state.samples++;
    kernel->state.cut_chains += stack->was_cut;
    kernel->state.unwound_leaves += stack->found;
    sn_outlet_put_stack(&kernel->outlet, SN_UNIVERSAL_CPU, &at, &fields, stack->frames,
                        stack->depth);
}
