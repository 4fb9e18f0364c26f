#include "daemon/recording_body.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/operation_kinds.h"
#include "daemon/rest_call.h"
#include "daemon/trace_settings.h"
#include "sonde/provider.h"

#define TEXT_MAX       4096u
#define NAME_TEXT_MAX  80u
#define KNOWN_TEXT_MAX 480u

/* Of live recordings: they are looked at, and begun anew when they have become long. */
#define LIVE_PROFILE       "live"
#define LIVE_SECONDS       600
#define LIVE_BYTES_MAX     (256 << 20)
#define LIVE_LEASE_SECONDS 30

enum shape {
    TEXT,
    FLAG,
    WHOLE,  /* number without a fraction */
    NUMBER, /* any */
    TEXTS,  /* list of texts */
    WHOLES, /* list of whole numbers */
    PROCESS,
    EVENT,
};

enum {
    OF_TRACE = 1,
    OF_RECORD = 2,
    OF_BOTH = 3,
};

struct member {
    const char *name;
    enum shape shape;
    unsigned kinds;
    double min;
    double max; /* of a list: how many */
};

static const struct member members[] = {
    {"kind", TEXT, OF_BOTH, 1, 16},
    {"name", TEXT, OF_BOTH, 1, NAME_TEXT_MAX},
    {"enabled", FLAG, OF_BOTH, 0, 0},
    {"live", FLAG, OF_TRACE, 0, 0},
    {"process", PROCESS, OF_BOTH, 0, 0},
    {"pid", WHOLE, OF_BOTH, 1, INT32_MAX}, /* short for "process": {"pid": ...} */
    {"durationSeconds", NUMBER, OF_BOTH, 0.001, SN_RECORDING_DURATION_MAX},
    {"leaseSeconds", WHOLE, OF_BOTH, 1, 86400},
    {"maxBytes", WHOLE, OF_BOTH, 10000, 1e15},
    {"profile", TEXT, OF_BOTH, 1, TEXT_MAX},
    {"providers", TEXTS, OF_BOTH, 0, SN_TRACE_PROVIDERS_MAX},
    {"clrEvents", TEXT, OF_BOTH, 1, TEXT_MAX},
    {"clrEventLevel", TEXT, OF_BOTH, 1, 32},
    {"events", TEXTS, OF_BOTH, 0, SN_TRACE_PROVIDERS_MAX},
    {"excludeEvents", TEXTS, OF_BOTH, 0, SN_TRACE_PROVIDERS_MAX},
    {"stacks", FLAG, OF_TRACE, 0, 0},
    {"rundown", FLAG, OF_TRACE, 0, 0},
    {"bufferMB", WHOLE, OF_TRACE, 1, 4096},
    {"format", TEXT, OF_TRACE, 1, 16},
    {"cpu", FLAG, OF_TRACE, 0, 0},
    {"stoppingEvent", EVENT, OF_TRACE, 0, 0},
    {"preset", TEXT, OF_RECORD, 1, 32},
    {"way", TEXT, OF_RECORD, 1, 32},
    {"frequency", WHOLE, OF_RECORD, 1, 10000},
    {"offCpu", FLAG, OF_RECORD, 0, 0},
    {"syscalls", FLAG, OF_RECORD, 0, 0},
    {"pids", WHOLES, OF_RECORD, 0, 128},
    {"names", TEXTS, OF_RECORD, 0, 128},
    {"tracepoints", TEXTS, OF_RECORD, 0, 128},
};

static const struct member process_members[] = {
    {"pid", WHOLE, OF_BOTH, 1, INT32_MAX},
    {"name", TEXT, OF_BOTH, 1, 200},
    {"uid", TEXT, OF_BOTH, 36, 36},
};

static const struct member event_members[] = {
    {"provider", TEXT, OF_BOTH, 1, 512},
    {"event", TEXT, OF_BOTH, 1, 512},
    {"payload", TEXT, OF_BOTH, 1, TEXT_MAX},
};

static bool is_within(double value, const struct member *member)
{
    return value >= member->min && value <= member->max;
}

static bool check_text(struct sn_rest_call *call, const json_t *value, const struct member *member)
{
    size_t size = json_string_length(value);
    if (!json_is_string(value))
        sn_rest_invalid(call, member->name, "must be a text");
    else if (!is_within((double)size, member) || strlen(json_string_value(value)) != size)
        sn_rest_invalid(call, member->name, "must have %.0f to %.0f characters", member->min,
                        member->max);
    else
        return true;
    return false;
}

static bool check_number(struct sn_rest_call *call, const json_t *value,
                         const struct member *member)
{
    if (member->shape == WHOLE ? !json_is_integer(value) : !json_is_number(value))
        sn_rest_invalid(call, member->name, "must be a %snumber",
                        member->shape == WHOLE ? "whole " : "");
    else if (!is_within(json_number_value(value), member))
        sn_rest_invalid(call, member->name, "must be %.15g to %.15g", member->min, member->max);
    else
        return true;
    return false;
}

static bool check_list(struct sn_rest_call *call, const json_t *value, const struct member *member)
{
    static const struct member text = {.shape = TEXT, .min = 1, .max = TEXT_MAX};
    static const struct member pid = {.shape = WHOLE, .min = 1, .max = INT32_MAX};
    struct member inner = member->shape == TEXTS ? text : pid;
    inner.name = member->name;
    if (!json_is_array(value)) {
        sn_rest_invalid(call, member->name, "must be a list");
        return false;
    }
    if ((double)json_array_size(value) > member->max) {
        sn_rest_invalid(call, member->name, "may have %.0f entries at most", member->max);
        return false;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *one = json_array_get(value, i);
        if (!(inner.shape == TEXT ? check_text(call, one, &inner)
                                  : check_number(call, one, &inner)))
            return false;
    }
    return true;
}

static bool check_flat(struct sn_rest_call *call, const json_t *value, const struct member *member)
{
    switch (member->shape) {
    case TEXT: return check_text(call, value, member);
    case WHOLE:
    case NUMBER: return check_number(call, value, member);
    case TEXTS:
    case WHOLES: return check_list(call, value, member);
    default: break;
    }
    if (json_is_boolean(value))
        return true;
    sn_rest_invalid(call, member->name, "must be true or false");
    return false;
}

static const struct member *find(const struct member *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    }
    return NULL;
}

/* Whoever mistypes a name sees those that there are. */
static void refuse_unknown(struct sn_rest_call *call, const char *name, const struct member *table,
                           size_t count, unsigned kind)
{
    struct sn_buf known = sn_buf_with_limit(KNOWN_TEXT_MAX);
    for (size_t i = 0; i < count; i++) {
        if (table[i].kinds & kind)
            sn_buf_format(&known, "%s%s", known.size ? ", " : "", table[i].name);
    }
    sn_rest_invalid(call, name, "is not known: there are %s", sn_buf_string(&known));
    sn_buf_done(&known);
}

/* An object of texts and numbers within the body. */
static bool check_inner(struct sn_rest_call *call, const json_t *value, const struct member *outer)
{
    const struct member *table = outer->shape == PROCESS ? process_members : event_members;
    if (!json_is_object(value)) {
        sn_rest_invalid(call, outer->name, "must be an object");
        return false;
    }
    for (void *at = json_object_iter((json_t *)(uintptr_t)value); at;
         at = json_object_iter_next((json_t *)(uintptr_t)value, at)) {
        char path[96];
        const char *name = json_object_iter_key(at);
        const struct member *known = find(table, 3, name);
        (void)snprintf(path, sizeof(path), "%s.%.40s", outer->name, name);
        if (!known) {
            refuse_unknown(call, path, table, 3, OF_BOTH);
            return false;
        }
        struct member member = *known;
        member.name = path;
        if (!check_flat(call, json_object_iter_value(at), &member))
            return false;
    }
    return true;
}

static bool check_member(struct sn_rest_call *call, const char *name, const json_t *value,
                         unsigned kind)
{
    char shown[64];
    size_t count = sizeof(members) / sizeof(*members);
    const struct member *member = find(members, count, name);
    (void)snprintf(shown, sizeof(shown), "%.60s", name);
    if (!member)
        refuse_unknown(call, shown, members, count, kind);
    else if (!(member->kinds & kind))
        sn_rest_invalid(call, shown, "has no meaning for this kind of recording");
    else
        return member->shape == PROCESS || member->shape == EVENT ? check_inner(call, value, member)
                                                                  : check_flat(call, value, member);
    return false;
}

static bool read_kind(struct sn_rest_call *call, unsigned *ret_kind)
{
    const json_t *value = json_object_get(call->body, "kind");
    const char *kind = value ? json_string_value(value) : "trace";
    *ret_kind = kind && strcmp(kind, "record") == 0 ? OF_RECORD : OF_TRACE;
    if (kind && (*ret_kind == OF_RECORD || strcmp(kind, "trace") == 0))
        return true;
    sn_rest_invalid(call, "kind", "must be trace or record");
    return false;
}

static bool is_object(struct sn_rest_call *call)
{
    if (json_is_object(call->body))
        return true;
    sn_rest_invalid(call, "body", "must be an object in JSON");
    return false;
}

/* Of a trace: one there must be, by any of the three. Of the machine: none is everything. */
static bool read_target(struct sn_rest_call *call, unsigned kind,
                        struct sn_recording_body *ret_body)
{
    const json_t *process = json_object_get(call->body, "process");
    const json_t *plain = json_object_get(call->body, "pid");
    const json_t *pid = plain ? plain : json_object_get(process, "pid");
    struct sn_operation_target *target = &ret_body->target;
    if (plain && process) {
        sn_rest_invalid(call, "pid", "is short for process.pid: give one of the two");
        return false;
    }
    if (pid) {
        (void)snprintf(ret_body->pid, sizeof(ret_body->pid), "%" JSON_INTEGER_FORMAT,
                       json_integer_value(pid));
        target->pid = ret_body->pid;
    }
    target->name = json_string_value(json_object_get(process, "name"));
    target->uid = json_string_value(json_object_get(process, "uid"));
    bool is_chosen = target->pid || target->name || target->uid;
    target->is_machine = kind == OF_RECORD && !is_chosen;
    if (is_chosen || target->is_machine)
        return true;
    sn_rest_invalid(call, "process", "must say which, by pid, name or uid (or give pid itself)");
    return false;
}

/* "live", or one of its parts: "live-gc". */
static bool is_live_profile(const char *name)
{
    size_t count;
    const struct sonde_trace_profile *profiles = sonde_trace_profiles(&count);
    size_t size = strlen(LIVE_PROFILE);
    bool is_live = strncmp(name, LIVE_PROFILE, size) == 0 && (!name[size] || name[size] == '-');
    for (size_t i = 0; is_live && i < count; i++) {
        if (strcmp(profiles[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool choose_live_profile(struct sn_rest_call *call)
{
    const json_t *profile = json_object_get(call->body, "profile");
    if (profile && !is_live_profile(json_string_value(profile))) {
        sn_rest_invalid(call, "profile", "of a live recording is live, or live-cpu and the like");
        return false;
    }
    if (profile || json_object_set_new(call->body, "profile", json_string(LIVE_PROFILE)) == 0)
        return true;
    sn_rest_problem(call, 503, "no memory");
    return false;
}

/* What is live is the same for all who look at the same: what they may say is of which process, and
 * which part of it. */
static bool fill_live(struct sn_rest_call *call)
{
    static const char *const allowed[] = {"kind", "live", "name", "pid", "process", "profile"};
    size_t count = sizeof(allowed) / sizeof(*allowed);
    for (void *at = json_object_iter(call->body); at; at = json_object_iter_next(call->body, at)) {
        char shown[64];
        size_t i = 0;
        while (i < count && strcmp(allowed[i], json_object_iter_key(at)) != 0)
            i++;
        if (i < count)
            continue;
        (void)snprintf(shown, sizeof(shown), "%.60s", json_object_iter_key(at));
        sn_rest_invalid(call, shown, "cannot be chosen for a live recording");
        return false;
    }
    if (!choose_live_profile(call))
        return false;
    if (json_object_set_new(call->body, "durationSeconds", json_integer(LIVE_SECONDS)) == 0 &&
        json_object_set_new(call->body, "maxBytes", json_integer(LIVE_BYTES_MAX)) == 0 &&
        json_object_set_new(call->body, "leaseSeconds", json_integer(LIVE_LEASE_SECONDS)) == 0)
        return true;
    sn_rest_problem(call, 503, "no memory");
    return false;
}

bool sn_recording_body_read(struct sn_rest_call *call, struct sn_recording_body *ret_body)
{
    unsigned kind;
    *ret_body = (struct sn_recording_body){0};
    if (!is_object(call) || !read_kind(call, &kind))
        return false;
    for (void *at = json_object_iter(call->body); at; at = json_object_iter_next(call->body, at)) {
        if (!check_member(call, json_object_iter_key(at), json_object_iter_value(at), kind))
            return false;
    }
    bool is_live = json_is_true(json_object_get(call->body, "live"));
    if (!read_target(call, kind, ret_body) || (is_live && !fill_live(call)))
        return false;
    const json_t *duration = json_object_get(call->body, "durationSeconds");
    ret_body->request = (struct sn_operation_request){
        .kind = kind == OF_RECORD ? &sn_record_operation : &sn_trace_operation,
        .owner = call->who.name,
        .tags = json_string_value(json_object_get(call->body, "name")),
        .file_name = json_string_value(json_object_get(call->body, "name")),
        .settings = call->body,
        .duration_ns = duration ? (uint64_t)(json_number_value(duration) * 1e9) : UINT64_MAX,
        .is_disabled = json_is_false(json_object_get(call->body, "enabled")),
        .is_recording = true,
        .is_live = is_live,
    };
    (void)json_object_del(call->body, "enabled"); /* the recording says it, and it changes */
    return true;
}

bool sn_recording_body_change(struct sn_rest_call *call, enum sn_recording_change *ret_change)
{
    const json_t *enabled = json_object_get(call->body, "enabled");
    const json_t *live = json_object_get(call->body, "live");
    const json_t *value = enabled ? enabled : live;
    if (!is_object(call))
        return false;
    if (json_object_size(call->body) != 1 || !value)
        sn_rest_invalid(call, "enabled", "is what can be changed, or live; one of them at a time");
    else if (!json_is_boolean(value))
        sn_rest_invalid(call, enabled ? "enabled" : "live", "must be true or false");
    else if (!enabled && json_is_true(live))
        sn_rest_invalid(call, "live", "can be changed to false only, which keeps the recording");
    else {
        *ret_change = !enabled                ? SN_RECORDING_KEEP
                      : json_is_true(enabled) ? SN_RECORDING_ENABLE
                                              : SN_RECORDING_DISABLE;
        return true;
    }
    return false;
}
