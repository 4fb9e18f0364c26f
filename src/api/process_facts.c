#include "api/process_facts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/redact.h"
#include "flow/road.h"
#include "flow/source.h"
#include "format/universal.h"
#include "model/event.h"
#include "source/proc/facts.h"

/* A turn must stay short: the kernel's rings fill meanwhile. */
#define LOOKS_A_TURN 32u
#define WANTED_LIMIT 65536u

struct wanted {
    uint32_t pid;
    uint64_t when_ns;
};

struct sn_process_facts {
    struct sn_road *road;
    struct sn_source *source; /* the road's */
    struct sn_schema schemas[SN_UNIVERSAL_COUNT];
    struct sn_buf payload;
    struct sn_buf command;
    bool keeps_secrets;
    uint64_t redactions;
    struct wanted *wanted; /* owns; in the order in which they came */
    size_t wanted_count;
    size_t wanted_capacity;
};

static int start_source(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    (void)source;
    (void)road;
    (void)err;
    return SONDE_OK; /* it speaks when it is asked to */
}

static void stop_source(struct sn_source *source)
{
    (void)source; /* ended by sn_process_facts_stop */
}

static void free_source(struct sn_source *source)
{
    free(source);
}

static const struct sn_source_ops source_ops = {
    .name = "processes", .start = start_source, .stop = stop_source, .free = free_source};

static int declare(struct sn_process_facts *facts, enum sn_universal kind, struct sonde_error *err)
{
    return sn_road_schema(facts->road, &facts->schemas[kind], err);
}

int sn_process_facts_new(struct sn_road *road, bool keeps_secrets,
                         struct sn_process_facts **ret_facts, struct sonde_error *err)
{
    struct sn_process_facts *facts = calloc(1, sizeof(*facts));
    struct sn_source *source = calloc(1, sizeof(*source));
    if (!facts || !source) {
        free(facts);
        free(source);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for facts of processes");
    }
    source->ops = &source_ops;
    facts->road = road;
    facts->source = source;
    facts->keeps_secrets = keeps_secrets;
    facts->payload = sn_buf_with_limit(1u << 16);
    facts->command = sn_buf_with_limit(SN_UNIVERSAL_TEXT_LIMIT);
    sn_universal_schemas(facts->schemas);
    *ret_facts = facts;
    int rc = sn_road_add_source(road, facts->source, err);
    if (rc == SONDE_OK)
        rc = declare(facts, SN_UNIVERSAL_PROCESS_FACTS, err);
    if (rc == SONDE_OK)
        rc = declare(facts, SN_UNIVERSAL_EXISTING_PROCESS, err);
    return rc;
}

void sn_process_facts_free(struct sn_process_facts *facts)
{
    if (!facts)
        return;
    sn_buf_done(&facts->payload);
    sn_buf_done(&facts->command);
    free(facts->wanted);
    free(facts);
}

static void put(struct sn_process_facts *facts, enum sn_universal kind, uint32_t pid,
                const struct sn_universal_fields *fields)
{
    sn_buf_clear(&facts->payload);
    sn_universal_encode(kind, fields, &facts->payload);
    if (facts->payload.failed)
        return;
    struct sn_event event = {.schema = &facts->schemas[kind],
                             .time_ns = sn_clock_monotonic_ns(),
                             .pid = pid,
                             .cpu = UINT32_MAX,
                             .thread_id = pid,
                             .capture_thread_id = pid,
                             .pointer_size = 8,
                             .payload = facts->payload.bytes,
                             .payload_size = (uint32_t)facts->payload.size};
    sn_road_event(facts->road, facts->source, &event);
}

static const char *command_of(struct sn_process_facts *facts, uint32_t pid)
{
    char path[64];
    char arguments[SN_UNIVERSAL_TEXT_LIMIT / 2];
    sn_buf_clear(&facts->command);
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cmdline", pid);
    long size = sn_file_peek_at(AT_FDCWD, path, arguments, sizeof(arguments));
    if (size <= 0)
        return "";
    if (!facts->keeps_secrets) {
        facts->redactions += sn_redact_arguments(&facts->command, arguments, (size_t)size);
        return sn_buf_string(&facts->command);
    }
    for (long i = 0; i + 1 < size; i++) {
        if (!arguments[i])
            arguments[i] = ' ';
    }
    sn_buf_text(&facts->command, arguments);
    return sn_buf_string(&facts->command);
}

static void tell(struct sn_process_facts *facts, uint32_t pid, uint8_t kind, const char *version,
                 bool with_name)
{
    struct sn_proc_facts known;
    if (facts->source->has_ended || !sn_proc_facts_read(pid, &known))
        return;
    if (with_name) {
        struct sn_universal_fields name = {
            .numbers = {known.ns_pid},
            .texts = {sn_universal_text_of(known.comm), sn_universal_text_of("")}};
        put(facts, SN_UNIVERSAL_EXISTING_PROCESS, pid, &name);
    }
    struct sn_universal_fields fields = {
        .numbers = {known.ns_pid, known.parent, known.uid, known.start_ticks, kind},
        .texts = {sn_universal_text_of(version), sn_universal_text_of(command_of(facts, pid)),
                  sn_universal_text_of(known.cgroup), sn_universal_text_of(known.container)}};
    put(facts, SN_UNIVERSAL_PROCESS_FACTS, pid, &fields);
}

void sn_process_facts_tell(struct sn_process_facts *facts, uint32_t pid, uint8_t kind,
                           const char *version, bool with_name)
{
    size_t kept = 0;
    for (size_t i = 0; i < facts->wanted_count; i++) {
        if (facts->wanted[i].pid != pid) /* now, and better */
            facts->wanted[kept++] = facts->wanted[i];
    }
    facts->wanted_count = kept;
    tell(facts, pid, kind, version, with_name);
}

void sn_process_facts_want(struct sn_process_facts *facts, uint32_t pid, uint64_t when_ns)
{
    struct wanted *grown = facts->wanted_count < WANTED_LIMIT
                               ? sn_array_room(facts->wanted, facts->wanted_count,
                                               &facts->wanted_capacity, sizeof(*grown))
                               : NULL;
    if (!grown)
        return; /* it stays without facts */
    facts->wanted = grown;
    grown[facts->wanted_count++] = (struct wanted){.pid = pid, .when_ns = when_ns};
}

void sn_process_facts_tend(struct sn_process_facts *facts, uint64_t now_ns)
{
    size_t looks = 0;
    size_t kept = 0;
    for (size_t i = 0; i < facts->wanted_count; i++) {
        struct wanted wanted = facts->wanted[i];
        if (wanted.when_ns > now_ns || looks == LOOKS_A_TURN) {
            facts->wanted[kept++] = wanted;
            continue;
        }
        tell(facts, wanted.pid, SN_PROCESS_NATIVE, "", false);
        looks++;
    }
    facts->wanted_count = kept;
    if (!facts->source->has_ended)
        sn_road_complete(facts->road, facts->source, now_ns);
}

/* Whoever still waits to be looked at would have no facts. */
void sn_process_facts_stop(struct sn_process_facts *facts)
{
    if (facts->source->has_ended)
        return;
    for (size_t i = 0; i < facts->wanted_count; i++)
        tell(facts, facts->wanted[i].pid, SN_PROCESS_NATIVE, "", false);
    facts->wanted_count = 0;
    sn_road_ended(facts->road, facts->source, SONDE_OK);
}

uint64_t sn_process_facts_redactions(const struct sn_process_facts *facts)
{
    return facts->redactions;
}
