/* Names of the code of running processes (sonde/names.h): a consumer on the hub for what is made
 * from now on, then a short session, stopped at once, whose rundown tells what was there before.
 * That order leaves no gap (docs/adr/0016-names-since-the-start.md). */
#include "sonde/names.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/event_internal.h"
#include "api/hub_internal.h"
#include "api/method_event.h"
#include "api/module_facts.h"
#include "api/names_internal.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/event.h"
#include "model/schema.h"
#include "symbol/methods.h"
#include "symbol/name_pool.h"
#include "symbol/names.h"

/* Loader, JIT, NGen, and the look-ups of precompiled code. */
#define NAME_KEYWORDS 0x2000000038u
#define VERBOSE       5u

/* Look-ups do not tell how long a method is. What runs was looked up before, so the nearest start
 * is the right one; this keeps it from reaching far into something else. */
#define ENTRY_SIZE 65536u

/* Of one process; beyond it what is new has no name. */
#define METHODS_MAX (1u << 20)
#define TEXTS_LIMIT (64u << 20)

#define NAME_LIMIT    65536u
#define PAYLOAD_LIMIT 262144u

static const uint32_t name_ids[] = {142, 143, 144, 152, 159};

struct process {
    struct process *next;
    struct sonde_names *all; /* borrows */
    uint32_t pid;
    struct sn_methods *methods;      /* owns */
    struct sonde_consumer *consumer; /* the hub's */
    struct sn_name_pool texts;       /* of `methods` */
    struct sn_module_facts modules;
    struct sn_hub_rundown rundown;
    bool is_ready;
    bool has_ended;
};

struct sonde_names {
    struct sonde_hub *hub;       /* borrows */
    struct sn_hub_turned turned; /* forgets who has ended */
    struct process *first;       /* owns */
    struct sn_buf payload;       /* of an event that is made up */
    struct sn_buf name;          /* the last answer */
};

/* --- learning --- */

/* As if a rundown had told of it. */
static void take_entry(struct process *process, const struct sn_event *event)
{
    static const struct sn_schema schema = {.provider = SN_RUNDOWN_PROVIDER,
                                            .name = "MethodDCEndVerbose",
                                            .event_id = SN_METHOD_144,
                                            .version = 1};
    struct sn_buf *payload = &process->all->payload;
    struct sn_method_event method;
    if (!sn_entry_event_read(event, &method))
        return;
    method.size = ENTRY_SIZE;
    sn_buf_clear(payload);
    sn_method_rundown(payload, &method);
    if (payload->failed)
        return;
    struct sn_event told = *event;
    told.schema = &schema;
    told.payload = payload->bytes;
    told.payload_size = (uint32_t)payload->size;
    sn_methods_take(process->methods, &told);
}

static void take_event(struct process *process, const struct sn_event *event)
{
    bool is_runtime = strcasecmp(event->schema->provider, SN_RUNTIME_PROVIDER) == 0;
    if (sn_methods_count(process->methods) >= METHODS_MAX)
        return;
    if (is_runtime && event->schema->event_id == SN_ENTRY_159)
        take_entry(process, event);
    else
        sn_methods_take(process->methods, event);
}

static int take_live(void *user, struct sonde_event *event)
{
    take_event(user, event->event);
    return SONDE_OK;
}

/* --- coming and going --- */

static void take_rundown(void *user, const struct sn_event *event)
{
    take_event(user, event);
}

/* Without a rundown there are still the names of what comes. */
static void end_rundown(void *user)
{
    struct process *process = user;
    process->is_ready = true;
}

static void consumer_changed(void *user, struct sonde_consumer *consumer)
{
    struct process *process = user;
    struct sonde_consumer_state state;
    sonde_consumer_state(consumer, &state);
    if (state.phase == SONDE_CONSUMER_ENDED)
        process->has_ended = process->is_ready = true;
    if (state.phase == SONDE_CONSUMER_LIVE && !process->is_ready &&
        !sn_hub_rundown(process->all->hub, process->pid, &process->rundown))
        process->is_ready = true;
}

static void free_process(struct process *process)
{
    sn_hub_rundown_cancel(&process->rundown);
    sonde_hub_remove(process->consumer);
    sn_methods_free(process->methods);
    sn_module_facts_done(&process->modules);
    sn_name_pool_done(&process->texts);
    free(process);
}

/* Nothing comes any more of those that have ended, and their pids may be others' by now. */
static void hub_turned(void *user)
{
    struct sonde_names *names = user;
    for (struct process **slot = &names->first; *slot;) {
        struct process *process = *slot;
        if (!process->has_ended) {
            slot = &process->next;
            continue;
        }
        *slot = process->next;
        free_process(process);
    }
}

/* --- the public side --- */

int sonde_names_new(struct sonde_hub *hub, struct sonde_names **ret_names, struct sonde_error *err)
{
    struct sonde_names *names = calloc(1, sizeof(*names));
    if (!names)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    names->hub = hub;
    names->payload = sn_buf_with_limit(PAYLOAD_LIMIT);
    names->name = sn_buf_with_limit(NAME_LIMIT);
    names->turned = (struct sn_hub_turned){.turned = hub_turned, .user = names};
    sn_hub_on_turn(hub, &names->turned);
    *ret_names = names;
    return SONDE_OK;
}

void sonde_names_free(struct sonde_names *names)
{
    if (!names)
        return;
    sn_hub_off_turn(names->hub, &names->turned);
    while (names->first) {
        struct process *process = names->first;
        names->first = process->next;
        free_process(process);
    }
    sn_buf_done(&names->payload);
    sn_buf_done(&names->name);
    free(names);
}

static struct process *find(const struct sonde_names *names, uint32_t pid)
{
    struct process *process = names->first;
    while (process && (process->pid != pid || process->has_ended))
        process = process->next;
    return process;
}

static int listen_to(struct process *process, struct sonde_error *err)
{
    static const struct sonde_provider provider = {.name = SN_RUNTIME_PROVIDER,
                                                   .keywords = NAME_KEYWORDS,
                                                   .level = VERBOSE,
                                                   .ids = name_ids,
                                                   .id_count =
                                                       sizeof(name_ids) / sizeof(*name_ids)};
    struct sonde_consumer_options options = {.size = sizeof(options),
                                             .pid = process->pid,
                                             .providers = &provider,
                                             .provider_count = 1,
                                             .in_order = true,
                                             .changed = consumer_changed};
    return sonde_hub_add(process->all->hub, &options, take_live, process, &process->consumer, err);
}

int sonde_names_add(struct sonde_names *names, uint32_t pid, struct sonde_error *err)
{
    if (find(names, pid))
        return SONDE_OK;
    struct process *process = calloc(1, sizeof(*process));
    if (!process)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    process->all = names;
    process->pid = pid;
    process->rundown =
        (struct sn_hub_rundown){.take = take_rundown, .done = end_rundown, .user = process};
    sn_module_facts_init(&process->modules);
    sn_name_pool_init(&process->texts);
    process->texts.arena = sn_arena_with_limit(TEXTS_LIMIT);
    int rc = sn_methods_new_in(&process->texts, &process->methods, err);
    if (rc == SONDE_OK)
        rc = listen_to(process, err);
    if (rc != SONDE_OK) {
        free_process(process);
        return rc;
    }
    process->next = names->first;
    names->first = process;
    return SONDE_OK;
}

bool sonde_names_are_ready(const struct sonde_names *names, uint32_t pid)
{
    const struct process *process = find(names, pid);
    return !process || process->is_ready;
}

const char *sn_names_frame(struct sonde_names *names, uint32_t pid, const struct sn_event *event,
                           uint32_t index)
{
    const struct process *process = find(names, pid);
    uint64_t address = 0;
    if (index < event->stack_depth)
        memcpy(&address, event->stack + (size_t)index * event->pointer_size, event->pointer_size);
    /* A return address belongs to the instruction before it. */
    const struct sn_method *method =
        process && address ? sn_methods_find(process->methods, address - 1, event->time_ns) : NULL;
    sn_buf_clear(&names->name);
    if (method)
        sn_name_readable(&names->name, method->type, method->name);
    if (!method || names->name.failed || !names->name.size) {
        sn_buf_clear(&names->name);
        sn_buf_format(&names->name, "0x%llx", (unsigned long long)address);
    }
    return sn_buf_string(&names->name);
}

const char *sonde_names_frame(struct sonde_names *names, uint32_t pid,
                              const struct sonde_event *event, size_t index)
{
    return sn_names_frame(names, pid, event->event,
                          (uint32_t)(index < UINT32_MAX ? index : UINT32_MAX));
}

static const struct sonde_stack_frame nobody_knows = {.name = "[unknown code]",
                                                      .type_name = "",
                                                      .method_name = "",
                                                      .signature = "",
                                                      .module = "",
                                                      .file = "",
                                                      .kind = SONDE_FRAME_NATIVE};

bool sonde_names_address(struct sonde_names *names, uint32_t pid, uint64_t address,
                         uint64_t time_ns, struct sonde_stack_frame *ret_frame)
{
    struct process *process = find(names, pid);
    /* A return address belongs to the instruction before it. */
    const struct sn_method *method =
        process && address ? sn_methods_find(process->methods, address - 1, time_ns) : NULL;
    *ret_frame = nobody_knows;
    ret_frame->address = address;
    if (!method)
        return false;
    const struct sn_module_fact *module =
        sn_module_facts_find(&process->modules, pid, process->methods, method->module_id);
    const char *arguments = strchr(method->signature, '(');
    sn_buf_clear(&names->name);
    sn_name_readable(&names->name, method->type, method->name);
    ret_frame->name = sn_buf_string(&names->name);
    ret_frame->type_name = method->type;
    ret_frame->method_name = method->name;
    ret_frame->signature = arguments ? arguments : "";
    ret_frame->module = module->name;
    memcpy(ret_frame->module_version_id, module->version_id, sizeof(module->version_id));
    ret_frame->token = method->token;
    ret_frame->kind = SONDE_FRAME_MANAGED;
    return true;
}
