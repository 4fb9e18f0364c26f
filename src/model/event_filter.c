#include "model/event_filter.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"

int sn_event_filter_new(const char *text, struct sn_event_filter **ret_filter,
                        struct sonde_error *err)
{
    struct sn_event_filter *filter = calloc(1, sizeof(*filter));
    if (!filter)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a condition");
    int rc = sn_filter_parse(filter, text, err);
    if (rc != SONDE_OK) {
        sn_event_filter_free(filter);
        return rc;
    }
    *ret_filter = filter;
    return SONDE_OK;
}

void sn_event_filter_free(struct sn_event_filter *filter)
{
    if (!filter)
        return;
    free(filter->texts);
    free(filter);
}

/* --- the program --- */

/* Comparisons that were made, and those of them that hold; one bit each. */
struct findings {
    uint64_t known;
    uint64_t held;
};

enum truth { NO, YES, UNKNOWN };

static enum truth both(enum truth a, enum truth b)
{
    if (a == NO || b == NO)
        return NO;
    return a == YES && b == YES ? YES : UNKNOWN;
}

static enum truth negation(enum truth a)
{
    return a == UNKNOWN ? UNKNOWN : a == YES ? NO : YES;
}

static enum truth truth_of(const struct findings *found, unsigned comparison)
{
    uint64_t bit = 1ull << comparison;
    return !(found->known & bit) ? UNKNOWN : found->held & bit ? YES : NO;
}

static enum truth run(const struct sn_event_filter *filter, const struct findings *found)
{
    enum truth stack[SN_FILTER_COMPARISON_MAX + 1] = {UNKNOWN}; /* one a comparison at most */
    unsigned depth = 0;
    for (unsigned i = 0; i < filter->step_count; i++) {
        uint8_t step = filter->steps[i];
        if (step == SN_FILTER_NOT) {
            stack[depth - 1] = negation(stack[depth - 1]);
        } else if (step < SN_FILTER_AND) {
            stack[depth++] = truth_of(found, step);
        } else {
            enum truth b = stack[--depth];
            enum truth a = stack[depth - 1];
            stack[depth - 1] =
                step == SN_FILTER_AND ? both(a, b) : negation(both(negation(a), negation(b)));
        }
    }
    return stack[0];
}

/* --- what every event has --- */

static struct sn_value text_value(const char *text)
{
    return (struct sn_value){
        .kind = SN_VALUE_TEXT8, .bytes = (const uint8_t *)text, .size = (uint32_t)strlen(text)};
}

static struct sn_value number_value(uint64_t number)
{
    return (struct sn_value){.kind = SN_VALUE_UINT, .number = number};
}

static struct sn_value guid_value(const uint8_t *guid)
{
    return (struct sn_value){.kind = guid ? SN_VALUE_GUID : SN_VALUE_NONE, .bytes = guid};
}

static struct sn_value property(const struct sn_event *event, uint8_t subject)
{
    const struct sn_schema *schema = event->schema;
    switch (subject) {
    case SN_FILTER_PROVIDER: return text_value(schema->provider);
    case SN_FILTER_NAME: return text_value(schema->name);
    case SN_FILTER_LEVEL: return number_value(schema->level);
    case SN_FILTER_ID: return number_value(schema->event_id);
    case SN_FILTER_VERSION: return number_value(schema->version);
    case SN_FILTER_OPCODE: return number_value(schema->opcode);
    case SN_FILTER_KEYWORDS: return number_value(schema->keywords);
    case SN_FILTER_THREAD: return number_value(event->thread_id);
    case SN_FILTER_PID: return number_value(event->pid);
    case SN_FILTER_ACTIVITY: return guid_value(event->activity);
    default: return guid_value(event->related);
    }
}

static bool property_holds(const struct sn_filter_comparison *comparison,
                           const struct sn_event *event)
{
    static const struct sn_field nameless = {.name = ""};
    struct sn_value value = property(event, comparison->subject);
    value.field = &nameless;
    return value.kind != SN_VALUE_NONE &&
           sn_filter_value_holds(&comparison->value, comparison->op, &value);
}

static struct findings compare_properties(const struct sn_event_filter *filter,
                                          const struct sn_event *event)
{
    struct findings found = {0};
    for (unsigned i = 0; i < filter->comparison_count; i++) {
        const struct sn_filter_comparison *comparison = &filter->comparisons[i];
        if (comparison->subject == SN_FILTER_PAYLOAD)
            continue;
        found.known |= 1ull << i;
        if (property_holds(comparison, event))
            found.held |= 1ull << i;
    }
    return found;
}

/* --- the payload --- */

#define LEVELS  (SN_FIELD_DEPTH_MAX * 2u)
#define NOWHERE UINT16_MAX

/* How far each comparison's path has been followed at each level: the offset in it of what is still
 * to come, or NOWHERE. */
struct walk {
    const struct sn_event_filter *filter;
    struct findings found;
    uint64_t has_key; /* of the pair at hand: those whose path ends in its key */
    bool is_in_array[LEVELS];
    uint16_t followed[LEVELS][SN_FILTER_COMPARISON_MAX];
};

/* Follows a path by one name, which may hold dots itself: the new offset, or NOWHERE. */
static uint16_t follow(const struct sn_filter_comparison *comparison, uint16_t from,
                       const char *name, size_t size)
{
    if (from == NOWHERE || size > (size_t)(comparison->path_size - from) ||
        strncasecmp(comparison->path + from, name, size) != 0)
        return NOWHERE;
    size_t end = from + size;
    if (end == comparison->path_size)
        return comparison->path_size;
    return comparison->path[end] == '.' ? (uint16_t)(end + 1) : NOWHERE;
}

static bool is_at_end(const struct sn_filter_comparison *comparison, uint16_t followed)
{
    return followed == comparison->path_size;
}

/* Outside of arrays the first of a name decides; in them any that holds. */
static void compare(struct walk *walk, unsigned index, const struct sn_value *value)
{
    const struct sn_filter_comparison *comparison = &walk->filter->comparisons[index];
    uint64_t bit = 1ull << index;
    bool holds = sn_filter_value_holds(&comparison->value, comparison->op, value);
    bool waits = walk->is_in_array[value->depth] || value->kind == SN_VALUE_OPEN;
    if (holds)
        walk->found.held |= bit;
    if (holds || !waits)
        walk->found.known |= bit;
}

/* Objects { Key, Value }, as the runtime writes dictionaries: the key counts as a name. */
static bool is_pair(const struct sn_payload_level *level)
{
    return !level->is_array && level->count == 2 && strcmp(level->fields[0].name, "Key") == 0 &&
           strcmp(level->fields[1].name, "Value") == 0;
}

static void take_key(struct walk *walk, const struct sn_value *value)
{
    char key[256];
    struct sn_buf room = sn_buf_over(key, sizeof(key));
    walk->has_key = 0;
    if (value->kind == SN_VALUE_TEXT16)
        sn_text_from_utf16(&room, value->bytes, value->size / 2u);
    else if (value->kind == SN_VALUE_TEXT8)
        sn_buf_append(&room, value->bytes, value->size);
    if (room.failed || !room.size)
        return;
    for (unsigned i = 0; i < walk->filter->comparison_count; i++) {
        const struct sn_filter_comparison *comparison = &walk->filter->comparisons[i];
        uint16_t from = walk->followed[value->depth][i];
        if (is_at_end(comparison, follow(comparison, from, key, room.size)))
            walk->has_key |= 1ull << i;
    }
}

static void take_pair(struct walk *walk, const struct sn_payload_level *level,
                      const struct sn_value *value)
{
    if (value->field == &level->fields[0]) {
        take_key(walk, value);
        return;
    }
    for (unsigned i = 0; i < walk->filter->comparison_count; i++)
        if (walk->has_key & ~walk->found.known & (1ull << i))
            compare(walk, i, value);
}

static void take(struct walk *walk, const struct sn_value *value)
{
    const char *name = value->field->name;
    size_t size = strlen(name);
    unsigned depth = value->depth;
    bool opens = value->kind == SN_VALUE_OPEN;
    for (unsigned i = 0; i < walk->filter->comparison_count; i++) {
        const struct sn_filter_comparison *comparison = &walk->filter->comparisons[i];
        uint16_t to = walk->followed[depth][i];
        if (size) /* elements of arrays have no name */
            to = follow(comparison, to, name, size);
        if (opens)
            walk->followed[depth + 1][i] = to;
        if (to != NOWHERE && is_at_end(comparison, to) && !(walk->found.known & (1ull << i)))
            compare(walk, i, value);
    }
    if (opens)
        walk->is_in_array[depth + 1] =
            walk->is_in_array[depth] || value->field->type != SN_TYPE_OBJECT;
}

static void start(struct walk *walk)
{
    walk->has_key = 0;
    walk->is_in_array[0] = false;
    for (unsigned i = 0; i < walk->filter->comparison_count; i++) {
        bool is_ours = walk->filter->comparisons[i].subject == SN_FILTER_PAYLOAD;
        walk->followed[0][i] = is_ours ? 0 : NOWHERE;
    }
}

static uint64_t all_of(const struct sn_event_filter *filter)
{
    unsigned count = filter->comparison_count;
    return count < 64 ? (1ull << count) - 1 : UINT64_MAX;
}

/* Reads as far as there is something to find. What is not there does not hold. */
static struct findings compare_payload(const struct sn_event_filter *filter, struct findings found,
                                       const struct sn_event *event)
{
    uint64_t all = all_of(filter);
    struct walk walk; /* large: set as far as it is needed */
    struct sn_payload payload;
    struct sn_value value;
    walk.filter = filter;
    walk.found = found;
    start(&walk);
    sn_payload_start(&payload, event);
    while (event->schema->has_layout && walk.found.known != all) {
        const struct sn_payload_level *level = &payload.levels[payload.depth];
        if (sn_payload_next(&payload, &value) != SONDE_OK)
            break;
        if (value.kind == SN_VALUE_CLOSE || value.depth + 1u >= LEVELS)
            continue;
        take(&walk, &value);
        if (value.depth && is_pair(level))
            take_pair(&walk, level, &value);
    }
    return (struct findings){.known = all, .held = walk.found.held};
}

bool sn_event_filter_holds(const struct sn_event_filter *filter, const struct sn_event *event)
{
    struct findings found = compare_properties(filter, event);
    enum truth truth = run(filter, &found);
    if (truth != UNKNOWN)
        return truth == YES;
    found = compare_payload(filter, found, event);
    return run(filter, &found) == YES;
}
