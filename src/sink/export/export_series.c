#include "sink/export/export_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/table.h"

#define SERIES_LIMIT  65536u
#define BYTES_LIMIT   (256u << 20) /* of all texts, tags and quantiles */
#define SILENCE_COUNT 3u           /* intervals */
#define SILENCE_NS    10000000000u

/* Everything a point needs lies in one block, so that the next point mostly fits into it. */
struct entry {
    uint64_t key;
    struct sonde_point point;
    struct sn_export_labels labels;
    struct sonde_process process;
    struct sn_export_totals totals;
    char *block; /* owns */
    size_t capacity;
};

struct sn_export_series {
    struct entry **entries; /* owns */
    size_t count;
    size_t capacity;
    size_t limit;
    size_t bytes; /* of all blocks */
    uint64_t dropped;
    struct sn_table places;     /* key -> its place in `entries`, and one more */
    struct sn_export_row *rows; /* owns; made when asked for */
    size_t rows_capacity;
};

struct sn_export_series *sn_export_series_new(size_t limit)
{
    struct sn_export_series *series = calloc(1, sizeof(*series));
    if (!series)
        return NULL;
    series->limit = limit ? limit : SERIES_LIMIT;
    series->places = sn_table_with_limit(series->limit);
    return series;
}

static void entry_free(struct entry *entry)
{
    if (entry)
        free(entry->block);
    free(entry);
}

void sn_export_series_free(struct sn_export_series *series)
{
    if (!series)
        return;
    for (size_t i = 0; i < series->count; i++)
        entry_free(series->entries[i]);
    sn_table_done(&series->places);
    free(series->entries);
    free(series->rows);
    free(series);
}

/* --- one block for all that a point refers to --- */

/* Without a block it only measures. */
struct packing {
    char *block;
    size_t size;
};

/* Aligned for whatever is put there. */
static void *pack(struct packing *packing, const void *bytes, size_t size)
{
    size_t at = (packing->size + 7) & ~(size_t)7;
    packing->size = at + size;
    if (!packing->block)
        return NULL;
    if (size)
        memcpy(packing->block + at, bytes, size);
    return packing->block + at;
}

static const char *pack_text(struct packing *packing, const char *text)
{
    const char *copied = text ? text : "";
    size_t size = strlen(copied) + 1;
    size_t at = packing->size;
    packing->size += size;
    return packing->block ? memcpy(packing->block + at, copied, size) : NULL;
}

static const struct sonde_tag *pack_tags(struct packing *packing, const struct sonde_tag *tags,
                                         size_t count)
{
    struct sonde_tag *copies = pack(packing, tags, count * sizeof(*tags));
    for (size_t i = 0; i < count; i++) {
        const char *name = pack_text(packing, tags[i].name);
        const char *value = pack_text(packing, tags[i].value);
        if (copies)
            copies[i] = (struct sonde_tag){name, value};
    }
    return copies;
}

static void pack_point(struct packing *packing, const struct sonde_point *from,
                       struct sonde_point *to)
{
    *to = *from;
    to->tags = pack_tags(packing, from->tags, from->tag_count);
    to->quantiles = pack(packing, from->quantiles, from->quantile_count * sizeof(*from->quantiles));
    to->provider = pack_text(packing, from->provider);
    to->version = pack_text(packing, from->version);
    to->name = pack_text(packing, from->name);
    to->display_name = pack_text(packing, from->display_name);
    to->unit = pack_text(packing, from->unit);
    to->description = pack_text(packing, from->description);
    to->tag_text = pack_text(packing, from->tag_text);
}

/* What no format tells, such as the command line, is not kept. */
static void pack_process(struct packing *packing, const struct sonde_process *from,
                         struct sonde_process *to)
{
    *to = *from;
    to->name = pack_text(packing, from->name);
    to->runtime = pack_text(packing, from->runtime);
    to->user = pack_text(packing, from->user);
    to->container = pack_text(packing, from->container);
    to->command_line = to->architecture = to->reason = to->fix = "";
}

static void pack_labels(struct packing *packing, const struct sn_export_labels *from,
                        struct entry *entry)
{
    entry->labels = *from;
    if (from->process) {
        pack_process(packing, from->process, &entry->process);
        entry->labels.process = &entry->process;
    }
    entry->labels.host = pack_text(packing, from->host);
    entry->labels.extra = pack_tags(packing, from->extra, from->extra_count);
}

static bool has_room(struct sn_export_series *series, struct entry *entry, size_t size)
{
    if (size <= entry->capacity)
        return true;
    if (size - entry->capacity > BYTES_LIMIT - series->bytes)
        return false;
    char *block = malloc(size);
    if (!block)
        return false;
    free(entry->block);
    series->bytes += size - entry->capacity;
    entry->block = block;
    entry->capacity = size;
    return true;
}

/* False: nothing was changed. */
static bool copy_point(struct sn_export_series *series, struct entry *entry,
                       const struct sonde_point *point, const struct sn_export_labels *labels)
{
    struct packing packing = {0};
    struct entry measured;
    pack_point(&packing, point, &measured.point);
    pack_labels(&packing, labels, &measured);
    if (!has_room(series, entry, packing.size))
        return false;
    packing = (struct packing){.block = entry->block};
    pack_point(&packing, point, &entry->point);
    pack_labels(&packing, labels, entry);
    return true;
}

/* --- finding --- */

static uint64_t with_text(uint64_t key, const char *text)
{
    const uint64_t both[] = {key, sn_table_key(text, strlen(text))};
    return sn_table_key(both, sizeof(both));
}

static uint64_t key_of(const struct sonde_point *point)
{
    uint64_t key = with_text((uint64_t)point->pid << 8 | (unsigned)point->origin, point->provider);
    key = with_text(key, point->version);
    key = with_text(key, point->name);
    return with_text(key, point->tag_text);
}

static bool is_same(const struct sonde_point *a, const struct sonde_point *b)
{
    return a->pid == b->pid && a->origin == b->origin && strcmp(a->provider, b->provider) == 0 &&
           strcmp(a->version, b->version) == 0 && strcmp(a->name, b->name) == 0 &&
           strcmp(a->tag_text, b->tag_text) == 0;
}

/* A new one has no block, and is not counted before its point is in it. */
static struct entry *add_entry(struct sn_export_series *series, uint64_t key)
{
    struct entry **entries = series->count < series->limit
                                 ? sn_array_room(series->entries, series->count, &series->capacity,
                                                 sizeof(struct entry *))
                                 : NULL;
    if (!entries)
        return NULL;
    series->entries = entries;
    struct entry *entry = calloc(1, sizeof(*entry));
    uint64_t *place = entry ? sn_table_put(&series->places, key) : NULL;
    if (!place) {
        free(entry);
        return NULL;
    }
    entry->key = key;
    series->entries[series->count++] = entry;
    *place = series->count;
    return entry;
}

static void remove_at(struct sn_export_series *series, size_t at)
{
    struct entry *entry = series->entries[at];
    sn_table_remove(&series->places, entry->key);
    series->bytes -= entry->capacity;
    entry_free(entry);
    struct entry *last = series->entries[--series->count];
    if (at == series->count)
        return;
    series->entries[at] = last;
    uint64_t *place = sn_table_find(&series->places, last->key);
    if (place)
        *place = at + 1;
}

/* --- putting --- */

/* A pid that came back belongs to another: its totals begin anew. */
static bool is_other_process(const struct entry *entry, const struct sn_export_labels *labels)
{
    return entry->labels.process && labels->process &&
           entry->process.start_ticks != labels->process->start_ticks;
}

/* What only grows has begun anew when it falls. */
static bool has_fallen(const struct sn_export_totals *totals, const struct sonde_point *point)
{
    return point->kind == SONDE_POINT_RATE && (point->value < 0 || point->total < totals->told);
}

static void begin(struct sn_export_totals *totals, const struct sonde_point *point)
{
    uint64_t interval = point->interval_ns < point->utc_ns ? point->interval_ns : 0;
    *totals = (struct sn_export_totals){.start_ns = point->utc_ns - interval, .told = NAN};
}

static void add_up(struct sn_export_totals *totals, const struct sonde_point *point)
{
    if (!totals->start_ns || has_fallen(totals, point))
        begin(totals, point);
    totals->told = point->total;
    if (isfinite(point->value) && (point->value > 0 || point->kind != SONDE_POINT_RATE))
        totals->added += point->value;
    if (isfinite(point->sum))
        totals->sum += point->sum;
    totals->count += point->count;
}

static int refuse(struct sn_export_series *series, struct sonde_error *err)
{
    series->dropped++;
    return sn_fail(err, SONDE_E_LIMIT, 0, "no room for another series beside %zu", series->count);
}

int sn_export_series_put(struct sn_export_series *series, const struct sonde_point *point,
                         const struct sn_export_labels *labels, struct sonde_error *err)
{
    uint64_t key = key_of(point);
    uint64_t *place = sn_table_find(&series->places, key);
    struct entry *entry = place ? series->entries[*place - 1] : NULL;
    if (entry && !is_same(&entry->point, point))
        return refuse(series, err); /* two texts with one key: somebody made them */
    if (entry && is_other_process(entry, labels))
        entry->totals = (struct sn_export_totals){0};
    if (!entry)
        entry = add_entry(series, key);
    if (!entry)
        return refuse(series, err);
    if (!copy_point(series, entry, point, labels)) {
        if (!place)
            remove_at(series, series->count - 1);
        return refuse(series, err);
    }
    add_up(&entry->totals, point);
    return 0;
}

void sn_export_series_forget(struct sn_export_series *series, const struct sonde_process *process)
{
    for (size_t i = series->count; i > 0; i--) {
        const struct entry *entry = series->entries[i - 1];
        if (entry->labels.process && entry->process.pid == process->pid &&
            entry->process.start_ticks == process->start_ticks)
            remove_at(series, i - 1);
    }
}

void sn_export_series_expire(struct sn_export_series *series, uint64_t now_ns)
{
    for (size_t i = series->count; i > 0; i--) {
        const struct sonde_point *point = &series->entries[i - 1]->point;
        uint64_t patience = SILENCE_COUNT * point->interval_ns;
        if (patience < SILENCE_NS)
            patience = SILENCE_NS;
        if (now_ns > point->time_ns && now_ns - point->time_ns > patience)
            remove_at(series, i - 1);
    }
}

const struct sn_export_row *sn_export_series_rows(struct sn_export_series *series,
                                                  size_t *ret_count)
{
    *ret_count = 0;
    if (series->rows_capacity < series->count) {
        struct sn_export_row *rows = realloc(series->rows, series->capacity * sizeof(*rows));
        if (!rows)
            return series->rows;
        series->rows = rows;
        series->rows_capacity = series->capacity;
    }
    for (size_t i = 0; i < series->count; i++) {
        struct entry *entry = series->entries[i];
        series->rows[i] = (struct sn_export_row){&entry->point, &entry->labels, &entry->totals};
    }
    *ret_count = series->count;
    return series->rows;
}

uint64_t sn_export_series_dropped(const struct sn_export_series *series)
{
    return series->dropped;
}
