#include "api/counter_specs.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/pattern.h"

#define MEMORY_LIMIT     (1u << 20)
#define SPEC_MAX         256u
#define NAME_MAX_OF_SPEC 256u

#define COUNTERS_PREFIX "EventCounters\\"
#define METERS_PREFIX   "Meters\\"

/* Names that differ between the two are asked of the one that has them. */
static const char *const usual[] = {
    "System.Runtime",
    "Microsoft.AspNetCore.Hosting",
    COUNTERS_PREFIX "Microsoft-AspNetCore-Server-Kestrel",
    METERS_PREFIX "Microsoft.AspNetCore.Server.Kestrel",
};

static int no_memory(struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the wanted counters");
}

static int refuse(const char *text, size_t size, const char *why, struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "counters \"%.*s\" cannot be read: %s", (int)size,
                   text, why);
}

static size_t trim(const char **text, size_t size)
{
    while (size && **text == ' ') {
        (*text)++;
        size--;
    }
    while (size && (*text)[size - 1] == ' ')
        size--;
    return size;
}

/* What a request to the runtime can carry: it knows no escapes. */
static bool is_name(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)text[i] < ' ' || strchr("\";,[]", text[i]))
            return false;
    }
    return size > 0;
}

static bool skip_prefix(const char **text, size_t *size, const char *prefix)
{
    size_t length = strlen(prefix);
    if (*size < length || strncasecmp(*text, prefix, length) != 0)
        return false;
    *text += length;
    *size -= length;
    return true;
}

static bool is_named(const struct sn_counter_spec *spec, const char *provider)
{
    return strchr(spec->provider, '*') ? sn_pattern_matches(spec->provider, provider)
                                       : strcasecmp(spec->provider, provider) == 0;
}

/* The names between brackets. */
static int read_names(struct sn_counter_specs *specs, struct sn_counter_spec *spec,
                      const char *text, size_t size, struct sonde_error *err)
{
    const char *end = text + size;
    spec->names = sn_arena_alloc(&specs->arena, NAME_MAX_OF_SPEC * sizeof(*spec->names));
    if (!spec->names)
        return no_memory(err);
    for (const char *at = text; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        const char *name = at;
        size_t length = trim(&name, (size_t)(stop - at));
        if (length && !is_name(name, length))
            return refuse(text, size, "a name holds a sign that no request can carry", err);
        if (spec->name_count == NAME_MAX_OF_SPEC)
            return refuse(text, size, "too many names", err);
        if (length &&
            !(spec->names[spec->name_count++] = sn_arena_copy(&specs->arena, name, length)))
            return no_memory(err);
        at = stop + 1;
    }
    return SONDE_OK;
}

static int read_spec(struct sn_counter_specs *specs, const char *text, size_t size,
                     struct sonde_error *err)
{
    const char *whole = text;
    size_t whole_size = size;
    struct sn_counter_spec spec = {.wants_counters = true, .wants_meters = true};
    if (skip_prefix(&text, &size, COUNTERS_PREFIX))
        spec.wants_meters = false;
    else if (skip_prefix(&text, &size, METERS_PREFIX))
        spec.wants_counters = false;
    const char *open = memchr(text, '[', size);
    size_t name_size = open ? (size_t)(open - text) : size;
    name_size = trim(&text, name_size);
    if (!is_name(text, name_size))
        return refuse(whole, whole_size, "there is no provider in it", err);
    if (open && whole[whole_size - 1] != ']')
        return refuse(whole, whole_size, "the bracket is not closed at its end", err);
    if (specs->count == SPEC_MAX)
        return refuse(whole, whole_size, "too many of them", err);
    spec.provider = sn_arena_copy(&specs->arena, text, name_size);
    if (!spec.provider)
        return no_memory(err);
    int rc = open ? read_names(specs, &spec, open + 1,
                               (size_t)(whole + whole_size - 1 - (open + 1)), err)
                  : SONDE_OK;
    if (rc == SONDE_OK)
        specs->specs[specs->count++] = spec;
    return rc;
}

/* Up to the comma that is in no brackets. */
static size_t spec_size(const char *text)
{
    bool is_inside = false;
    size_t size = 0;
    for (; text[size] && (is_inside || text[size] != ','); size++) {
        if (text[size] == '[')
            is_inside = true;
        else if (text[size] == ']')
            is_inside = false;
    }
    return size;
}

static int read_text(struct sn_counter_specs *specs, const char *text, struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (bool is_last = false; rc == SONDE_OK && !is_last;) {
        size_t size = spec_size(text);
        const char *spec = text;
        size_t trimmed = trim(&spec, size);
        rc = trimmed ? read_spec(specs, spec, trimmed, err)
                     : refuse(text, strlen(text), "a provider is missing", err);
        is_last = !text[size];
        text += size + 1;
    }
    return rc;
}

int sn_counter_specs_read(struct sn_counter_specs *specs, const char *const *texts, size_t count,
                          struct sonde_error *err)
{
    int rc = SONDE_OK;
    if (!count) {
        texts = usual;
        count = sizeof(usual) / sizeof(*usual);
    }
    *specs = (struct sn_counter_specs){.arena = sn_arena_with_limit(MEMORY_LIMIT)};
    specs->specs = sn_arena_alloc(&specs->arena, SPEC_MAX * sizeof(*specs->specs));
    if (!specs->specs)
        return no_memory(err);
    for (size_t i = 0; rc == SONDE_OK && i < count; i++)
        rc = read_text(specs, texts[i], err);
    return rc;
}

void sn_counter_specs_done(struct sn_counter_specs *specs)
{
    sn_arena_done(&specs->arena);
}

static bool has_name(const struct sn_counter_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->name_count; i++) {
        if (strcasecmp(spec->names[i], name) == 0)
            return true;
    }
    return spec->name_count == 0;
}

bool sn_counter_specs_want_counter(const struct sn_counter_specs *specs, const char *provider,
                                   const char *name)
{
    for (size_t i = 0; i < specs->count; i++) {
        const struct sn_counter_spec *spec = &specs->specs[i];
        if (spec->wants_counters && is_named(spec, provider) && has_name(spec, name))
            return true;
    }
    return false;
}

bool sn_counter_specs_want_meter(const struct sn_counter_specs *specs, const char *meter,
                                 const char *name)
{
    for (size_t i = 0; i < specs->count; i++) {
        const struct sn_counter_spec *spec = &specs->specs[i];
        if (spec->wants_meters && is_named(spec, meter) && has_name(spec, name))
            return true;
    }
    return false;
}

bool sn_counter_specs_prefer_meter(const struct sn_counter_specs *specs, const char *provider)
{
    bool is_found = false;
    for (size_t i = 0; i < specs->count; i++) {
        const struct sn_counter_spec *spec = &specs->specs[i];
        if (!is_named(spec, provider))
            continue;
        if (spec->wants_counters && !spec->wants_meters)
            return false; /* asked for by its prefix */
        is_found |= spec->wants_counters;
    }
    return is_found;
}

static void put_item(struct sn_buf *to, const char *provider, const char *name)
{
    if (to->size)
        sn_buf_u8(to, ',');
    sn_buf_text(to, provider);
    if (name) {
        sn_buf_u8(to, '\\');
        sn_buf_text(to, name);
    }
}

void sn_counter_specs_metrics(const struct sn_counter_specs *specs, struct sn_buf *to)
{
    for (size_t i = 0; i < specs->count; i++) {
        const struct sn_counter_spec *spec = &specs->specs[i];
        if (!spec->wants_meters)
            continue;
        if (!spec->name_count)
            put_item(to, spec->provider, NULL);
        for (size_t n = 0; n < spec->name_count; n++)
            put_item(to, spec->provider, spec->names[n]);
    }
}
