#include "source/perf/task_events.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/own.h"
#include "source/perf/outlet.h"
#include "source/perf/tasks.h"
#include "symbol/objects.h"

/* A file that could not be opened may be gone only for the process that was asked about. */
#define OPEN_TRIES 4u

#define METADATA_LIMIT 8192u

void sn_task_events_init(struct sn_task_events *events, struct sn_outlet *outlet,
                         struct sn_objects *objects)
{
    *events = (struct sn_task_events){
        .outlet = outlet, .objects = objects, .last_mapping_id = SN_KERNEL_MAPPING_ID};
    sn_mapped_files_init(&events->files);
}

void sn_task_events_done(struct sn_task_events *events)
{
    sn_mapped_files_done(&events->files);
}

static struct sn_outlet_at whole_process(const struct sn_task *task, uint64_t time_ns)
{
    return (struct sn_outlet_at){
        .time_ns = time_ns, .pid = task->pid, .tid = task->pid, .cpu = UINT32_MAX};
}

void sn_task_events_process(struct sn_task_events *events, struct sn_task *task, uint64_t time_ns)
{
    if (task->is_told)
        return;
    struct sn_outlet_at at = whole_process(task, time_ns);
    struct sn_universal_fields fields = {
        .numbers = {task->pid},
        .texts = {sn_universal_text_of(task->name), sn_universal_text_of("")}};
    enum sn_universal kind =
        task->is_new ? SN_UNIVERSAL_PROCESS_CREATE : SN_UNIVERSAL_EXISTING_PROCESS;
    sn_outlet_put(events->outlet, kind, &at, &fields);
    task->is_told = true;
}

void sn_task_events_exit(struct sn_task_events *events, struct sn_task *task, uint64_t time_ns)
{
    struct sn_outlet_at at = whole_process(task, time_ns);
    struct sn_universal_fields none = {0};
    sn_task_events_process(events, task, time_ns);
    sn_outlet_put(events->outlet, SN_UNIVERSAL_PROCESS_EXIT, &at, &none);
    task->is_told = false;
    task->has_kernel = false;
    task->exited_ns = time_ns;
}

void sn_task_events_thread(struct sn_task_events *events, const struct sn_task *task, uint32_t tid,
                           const char *name, uint64_t time_ns)
{
    struct sn_outlet_at at = whole_process(task, time_ns);
    struct sn_universal_fields fields = {.texts = {sn_universal_text_of(name)}};
    at.tid = tid;
    sn_outlet_put(events->outlet, SN_UNIVERSAL_THREAD_NAME, &at, &fields);
}

void sn_task_events_thread_exit(struct sn_task_events *events, const struct sn_task *task,
                                uint32_t tid, uint64_t time_ns)
{
    struct sn_outlet_at at = whole_process(task, time_ns);
    struct sn_universal_fields none = {0};
    at.tid = tid;
    sn_outlet_put(events->outlet, SN_UNIVERSAL_THREAD_EXIT, &at, &none);
}

uint32_t sn_task_events_object(struct sn_task_events *events, const struct sn_task *task,
                               const struct sn_mapping *mapping)
{
    struct sn_mapped_file *file = sn_mapped_files_get(&events->files, mapping->file);
    if (file->object || file->is_memory || file->tries == OPEN_TRIES || !events->objects)
        return file->object;
    struct sn_object_mapping asked = {.pid = task->pid,
                                      .start = mapping->start,
                                      .end = mapping->end,
                                      .offset = mapping->offset,
                                      .path = file->path,
                                      .device = file->device,
                                      .inode = file->inode};
    file->tries++;
    file->object = sn_objects_add(events->objects, &asked);
    return file->object;
}

/* What a reader elsewhere finds the file's symbols by. */
static void write_metadata(struct sn_buf *to, const struct sn_object_facts *facts)
{
    struct sn_json json = sn_json_to(to);
    char text[2 * SN_BUILD_ID_MAX + 1] = "";
    for (uint32_t i = 0; i < facts->build_id_size; i++)
        (void)snprintf(text + (size_t)i * 2, 3, "%02x", facts->build_id[i]);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "type", "ELF");
    sn_json_text(&json, "build_id", text);
    sn_json_text(&json, "debug_link", facts->debug_link);
    (void)snprintf(text, sizeof(text), "0x%" PRIx64, facts->load_vaddr);
    sn_json_text(&json, "p_vaddr", text);
    (void)snprintf(text, sizeof(text), "0x%" PRIx64, facts->load_offset);
    sn_json_text(&json, "p_offset", text);
    sn_json_close(&json);
}

/* The metadata's id, told if it was not: the object's number. 0: nothing to tell of. */
static uint32_t tell_metadata(struct sn_task_events *events, const struct sn_task *task,
                              const struct sn_mapping *mapping, uint64_t time_ns)
{
    struct sn_object_facts facts;
    uint32_t object = sn_task_events_object(events, task, mapping);
    struct sn_mapped_file *file = sn_mapped_files_get(&events->files, mapping->file);
    if (!object || !sn_objects_facts(events->objects, object, &facts) || !facts.is_elf)
        return 0;
    if (file->is_told)
        return object;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(METADATA_LIMIT);
    write_metadata(&text, &facts);
    struct sn_outlet_at at = whole_process(task, time_ns);
    struct sn_universal_fields fields = {
        .numbers = {object},
        .texts = {{(const char *)text.bytes, text.size}, sn_universal_text_of("")}};
    sn_outlet_put(events->outlet, SN_UNIVERSAL_MAPPING_METADATA, &at, &fields);
    file->is_told = true;
    return object;
}

void sn_task_events_mapping(struct sn_task_events *events, const struct sn_task *task,
                            struct sn_mapping *mapping, uint64_t time_ns)
{
    if (mapping->id)
        return;
    uint32_t metadata = tell_metadata(events, task, mapping, time_ns);
    const struct sn_mapped_file *file = sn_mapped_files_get(&events->files, mapping->file);
    struct sn_outlet_at at = whole_process(task, time_ns);
    mapping->id = ++events->last_mapping_id;
    struct sn_universal_fields fields = {
        .numbers = {mapping->id, mapping->start, mapping->end, mapping->offset, metadata},
        .texts = {sn_universal_text_of(file->path)}};
    sn_outlet_put(events->outlet, SN_UNIVERSAL_MAPPING, &at, &fields);
}

void sn_task_events_kernel(struct sn_task_events *events, struct sn_task *task, uint64_t time_ns)
{
    if (task->has_kernel)
        return;
    struct sn_outlet_at at = whole_process(task, time_ns);
    struct sn_universal_fields fields = {
        .numbers = {SN_KERNEL_MAPPING_ID, SN_KERNEL_MAPPING_START, SN_KERNEL_MAPPING_END},
        .texts = {sn_universal_text_of("vmlinux")}};
    sn_outlet_put(events->outlet, SN_UNIVERSAL_MAPPING, &at, &fields);
    task->has_kernel = true;
}
