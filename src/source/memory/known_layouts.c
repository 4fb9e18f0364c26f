/* Adds known layouts to a runtime's contract, group by group, each after its proof. */
#include "source/memory/known_layouts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "source/memory/known_layouts_internal.h"
#include "source/memory/runtime_memory.h"

/* Slots of the debugger's table that are read; 9 has 158. Releases of one major version have added
 * a variable in the middle (8.0 did), so what lies behind it is looked for a little around. */
#define SLOTS      192u
#define SHIFT_MOST 2u
#define TRIES      4u /* the process runs on: what did not hold may have changed under our eyes */
#define FRAME_TEXT 8192u

struct slots {
    uint64_t values[SLOTS + 2 * SHIFT_MOST]; /* with room for shifts at both ends */
    size_t count;                            /* 0: there is no table */
};

static const struct {
    const char *name;
    bool (*prove)(struct sn_layout_trial *trial);
} groups[] = {
    [SN_LAYOUT_THREADS] = {"threads", sn_prove_threads},
    [SN_LAYOUT_TYPES] = {"types", sn_prove_types},
    [SN_LAYOUT_MODULES] = {"modules", sn_prove_modules},
    [SN_LAYOUT_CODE] = {"code", sn_prove_code},
    [SN_LAYOUT_FRAMES] = {"frames", sn_prove_frames},
    [SN_LAYOUT_SYNC_BLOCKS] = {"sync blocks", sn_prove_sync_blocks},
    [SN_LAYOUT_CONSTRUCTORS] = {"static constructors", sn_prove_constructors},
};

/* --- what a proof looks up --- */

bool sn_trial_fail(struct sn_layout_trial *trial, const char *why)
{
    (void)snprintf(trial->why, sizeof(trial->why), "%s", why);
    return false;
}

bool sn_trial_bind(struct sn_layout_trial *trial, const struct sn_contract_want *wants,
                   size_t count, void *to)
{
    for (size_t i = 0; i < count; i++) {
        const struct sn_contract_want *want = &wants[i];
        uint32_t offset = SN_CONTRACT_NONE;
        if (!sn_contract_offset(trial->runtime->contract, want->type, want->field, &offset) &&
            !sn_contract_offset(trial->group, want->type, want->field, &offset) &&
            !want->is_optional) {
            (void)snprintf(trial->why, sizeof(trial->why), "%s.%s is not known", want->type,
                           want->field);
            trial->is_unbound = true;
            return false;
        }
        memcpy((char *)to + want->at, &offset, sizeof(offset));
    }
    return true;
}

bool sn_trial_number(struct sn_layout_trial *trial, const char *name, uint64_t *ret_value)
{
    return sn_contract_number(trial->runtime->contract, name, ret_value) ||
           sn_contract_number(trial->group, name, ret_value);
}

bool sn_trial_address(struct sn_layout_trial *trial, const char *name, uint64_t *ret_address)
{
    return sn_contract_address(trial->runtime->contract, name, ret_address) ||
           sn_contract_address(trial->group, name, ret_address);
}

bool sn_trial_pointer(struct sn_layout_trial *trial, const char *name, uint64_t *ret_pointer)
{
    uint64_t variable;
    return sn_trial_address(trial, name, &variable) &&
           sn_trial_follow(trial, variable, 0, ret_pointer);
}

bool sn_trial_follow(struct sn_layout_trial *trial, uint64_t address, uint32_t offset,
                     uint64_t *ret_pointer)
{
    return offset != SN_CONTRACT_NONE &&
           sn_memory_u64(trial->memory, address + offset, ret_pointer) && *ret_pointer &&
           !(*ret_pointer & 7);
}

/* --- a group on trial --- */

static void read_slots(struct sn_runtime_memory *runtime, struct slots *slots)
{
    uint64_t *values = slots->values + SHIFT_MOST;
    if (!runtime->dac_table)
        return;
    while (slots->count < SLOTS &&
           sn_memory_u64(runtime->memory, runtime->dac_table + 8 * slots->count,
                         &values[slots->count]))
        slots->count++;
}

/* The classes of frames, by which a frame is known, as numbers under their names. */
static int add_frames(struct sn_contract *contract, const struct sn_known_layout *layout,
                      const uint64_t *slots, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(FRAME_TEXT);
    sn_buf_text(&text, "{\"globals\":{");
    for (size_t i = 0; i < SN_TRIAL_FRAMES && layout->frames[i]; i++) {
        uint64_t address = layout->first_frame + i < SLOTS ? slots[layout->first_frame + i] : 0;
        sn_buf_format(&text, "%s\"%sIdentifier\":\"0x%" PRIx64 "\"", i ? "," : "",
                      layout->frames[i], address);
    }
    sn_buf_text(&text, "}}");
    if (text.failed)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the runtime's frames");
    return sn_contract_add(contract, (const char *)text.bytes, text.size, NULL, 0, err);
}

static int add_group(struct sn_contract *contract, const struct sn_known_layout *layout,
                     unsigned group, const uint64_t *slots, struct sonde_error *err)
{
    const char *json = layout->groups[group];
    int rc = sn_contract_add(contract, json, strlen(json), slots, SLOTS, err);
    if (rc == SONDE_OK && group == SN_LAYOUT_FRAMES && layout->frames)
        rc = add_frames(contract, layout, slots, err);
    return rc;
}

static void list_frames(const struct sn_known_layout *layout, const uint64_t *slots,
                        struct sn_layout_trial *trial)
{
    for (size_t i = 0; layout->frames && layout->frames[i] && i < SN_TRIAL_FRAMES; i++) {
        if (layout->first_frame + i < SLOTS)
            trial->frame_classes[trial->frame_class_count++] = slots[layout->first_frame + i];
    }
}

/* *ret_is_proved: the group holds with these slots. */
static int try_group(struct sn_runtime_memory *runtime, const struct sn_known_layout *layout,
                     unsigned group, const uint64_t *slots, struct sn_layout_trial *trial,
                     struct sonde_error *err)
{
    SN_AUTO(sn_contract_free) struct sn_contract *contract = NULL;
    *trial = (struct sn_layout_trial){.runtime = runtime, .memory = runtime->memory};
    int rc = sn_contract_new(&contract, err);
    if (rc == SONDE_OK)
        rc = add_group(contract, layout, group, slots, err);
    if (rc != SONDE_OK)
        return rc;
    trial->group = contract;
    list_frames(layout, slots, trial);
    for (unsigned i = 0; i < TRIES && !trial->is_proved; i++) {
        if (i)
            sn_memory_forget(runtime->memory);
        trial->is_proved = groups[group].prove(trial);
    }
    trial->group = NULL;
    return trial->is_proved ? add_group(runtime->contract, layout, group, slots, err) : SONDE_OK;
}

/* What was not proved is said with the reason, and what needs it after it. */
static void remark(struct sn_runtime_memory *runtime, unsigned group,
                   const struct sn_layout_trial *trial)
{
    size_t used = strlen(runtime->remarks);
    char *to = runtime->remarks + used;
    size_t room = sizeof(runtime->remarks) - used;
    if (!used)
        (void)snprintf(to, room, "%s of .NET %u cannot be read: %s", groups[group].name,
                       (unsigned)runtime->major, trial->why);
    else if (!trial->is_unbound)
        (void)snprintf(to, room, "; nor %s: %s", groups[group].name, trial->why);
    else
        (void)snprintf(to, room, "; nor %s, for want of that", groups[group].name);
}

/* The first reason is the one that is told: that of the slots as they are known. */
static int add_proved(struct sn_runtime_memory *runtime, const struct sn_known_layout *layout,
                      unsigned group, const struct slots *slots, struct sonde_error *err)
{
    static const int shifts[] = {0, 1, -1, 2, -2};
    struct sn_layout_trial first = {.is_unbound = false};
    for (size_t i = 0; i < sizeof(shifts) / sizeof(*shifts); i++) {
        struct sn_layout_trial trial;
        const uint64_t *shifted = slots->values + (int)SHIFT_MOST + shifts[i];
        int rc = try_group(runtime, layout, group, shifted, &trial, err);
        if (rc != SONDE_OK || trial.is_proved)
            return rc;
        if (!i)
            first = trial;
        if (!slots->count)
            break;
    }
    remark(runtime, group, &first);
    return SONDE_OK;
}

int sn_known_layouts_add_from(struct sn_runtime_memory *runtime,
                              const struct sn_known_layout *layout, struct sonde_error *err)
{
    struct slots slots = {.count = 0};
    read_slots(runtime, &slots);
    for (unsigned i = 0; i < SN_LAYOUT_GROUPS; i++) {
        int rc = layout->groups[i] ? add_proved(runtime, layout, i, &slots, err) : SONDE_OK;
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

int sn_known_layouts_add(struct sn_runtime_memory *runtime, struct sonde_error *err)
{
    const struct sn_known_layout *layout = sn_known_layout_of(runtime->major);
    return layout ? sn_known_layouts_add_from(runtime, layout, err) : SONDE_OK;
}
