/* System calls by name: how many, how long, how many failed; and who called them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/table.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "format/syscall_names.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "sink/aggregate/kernel_scope.h"
#include "sink/aggregate/kernel_topics.h"
#include "symbol/code.h"

#define KIND_LIMIT 4096u

static const uint32_t ids[] = {4};
static const struct sn_request_item items[] = {
    {.provider = "Sonde.Kernel", .ids = ids, .id_count = 1}};
const struct sn_request sn_syscalls_request = {.items = items, .item_count = 1};

struct syscalls {
    struct sn_sink sink;
    struct sn_report *report;
    struct sn_code *code;
    struct sn_kernel_subject subject;
    struct sn_frames *frames;
    struct sn_table by_number; /* -> index + 1 of the report's kinds */
};

static const char *name_of(struct sn_report *report, uint32_t number)
{
    const char *known = sn_syscall_name(number);
    char made[32];
    if (known)
        return known;
    (void)snprintf(made, sizeof(made), "system call %u", number);
    const char *copy = sn_arena_copy(&report->arena, made, strlen(made));
    return copy ? copy : "";
}

static struct sn_syscall_kind *kind_of(struct syscalls *self, uint32_t number)
{
    struct sn_syscall_report *report = &self->report->syscalls;
    uint64_t *place = sn_table_put(&self->by_number, number);
    if (!place)
        return NULL;
    if (!*place) {
        struct sn_syscall_kind *grown =
            sn_array_room(report->kinds, report->count, &report->capacity, sizeof(*grown));
        if (!grown)
            return NULL;
        report->kinds = grown;
        grown[report->count++] = (struct sn_syscall_kind){
            .name = name_of(self->report, number), .number = number, .frame = SN_NO_INDEX};
        *place = report->count;
    }
    return &report->kinds[*place - 1];
}

/* Where it was called: without what the kernel did, as the call itself stands for that. */
static uint32_t caller_of(const struct sn_profile *profile, uint32_t node)
{
    while (node && node != SN_NO_INDEX &&
           profile->frames[profile->nodes[node].frame].kind == SN_FRAME_KERNEL)
        node = profile->nodes[node].parent;
    return node;
}

static void add_to_profile(struct syscalls *self, const struct sn_event *event,
                           struct sn_syscall_kind *kind, uint64_t ns)
{
    struct sn_profile *profile = self->report->syscalls.profile;
    const struct sn_frame leaf = {.name = kind->name,
                                  .full_name = kind->name,
                                  .module = "",
                                  .name_space = "",
                                  .kind = SN_FRAME_TYPE};
    const uint64_t values[SN_COLUMN_MAX] = {ns, 1};
    uint32_t thread =
        sn_profile_thread(profile, event->pid, event->thread_id,
                          sn_code_thread_name(self->code, event->pid, event->thread_id));
    uint32_t node = caller_of(profile, sn_frames_node(self->frames, event));
    kind->frame = sn_profile_frame(profile, &leaf);
    sn_profile_add(profile, thread, sn_profile_node(profile, node, kind->frame), values);
}

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    enum { ERROR_MAX = 4095 };
    struct syscalls *self = (struct syscalls *)sink;
    struct sn_universal_fields fields;
    if (event->schema == &sn_lost_schema || !sn_kernel_subject_of(&self->subject, event) ||
        !sn_universal_decode(SN_UNIVERSAL_SYSCALL, event, &fields))
        return SONDE_OK;
    struct sn_syscall_kind *kind = kind_of(self, (uint32_t)fields.numbers[0]);
    if (!kind)
        return SONDE_OK;
    struct sn_syscall_report *report = &self->report->syscalls;
    uint64_t ns = fields.numbers[1];
    bool is_error = 0 - fields.numbers[2] - 1 < ERROR_MAX;
    report->event_count++;
    report->ns += ns;
    report->error_count += is_error;
    kind->count++;
    kind->ns += ns;
    kind->max_ns = ns > kind->max_ns ? ns : kind->max_ns;
    kind->error_count += is_error;
    add_to_profile(self, event, kind, ns);
    return SONDE_OK;
}

static int most_first(const void *left, const void *right)
{
    const struct sn_syscall_kind *a = left;
    const struct sn_syscall_kind *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return (a->number > b->number) - (a->number < b->number);
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct sn_syscall_report *report = &((struct syscalls *)sink)->report->syscalls;
    if (report->count)
        qsort(report->kinds, report->count, sizeof(*report->kinds), most_first);
    return SONDE_OK;
}

static void free_self(struct sn_sink *sink)
{
    struct syscalls *self = (struct syscalls *)sink;
    sn_table_done(&self->by_number);
    sn_frames_free(self->frames);
    free(self);
}

static const struct sn_sink_ops ops = {
    .name = "syscalls", .event = take_event, .finish = finish, .free = free_self};

struct sn_sink *sn_syscalls_make(const struct sn_aggregate_context *context,
                                 struct sonde_error *err)
{
    static const struct sn_column columns[] = {{"time", SN_UNIT_NS}, {"count", SN_UNIT_COUNT}};
    struct syscalls *self = calloc(1, sizeof(*self));
    if (!self) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for system calls");
        return NULL;
    }
    *self = (struct syscalls){
        .sink.ops = &ops,
        .report = context->report,
        .code = context->code,
        .subject = {context->code, context->is_in, context->is_in_count},
        .by_number = sn_table_with_limit(KIND_LIMIT),
    };
    struct sn_profile **slot = &context->report->syscalls.profile;
    int rc = sn_profile_new(columns, 2, slot, err);
    if (rc == SONDE_OK)
        rc = sn_frames_new(context->code, *slot, &self->frames, err);
    if (rc != SONDE_OK) {
        free_self(&self->sink);
        return NULL;
    }
    sn_frames_set_kernel(self->frames);
    return &self->sink;
}
