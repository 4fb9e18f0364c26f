#include "api/point_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/text.h"
#include "sink/aggregate/metric_decode.h"

#define SERIES_MAX  4096u
#define MEMORY_MAX  (4u << 20)
#define REFUSED_MAX 8192u
#define TEXT_MAX    2048u /* of one text of a series: longer ones are refused */
#define TAG_MAX     32u

/* A rate over less is noise: the runtime sends the first record right after the start. */
#define RATE_LEAST_NS (20ull * SN_NS_PER_MS)

#define SILENT_INTERVALS 3u
#define FORGET_INTERVALS 30u
#define FORGET_LEAST_NS  (60ull * SN_NS_PER_SECOND)

/* What came since the last point. */
struct sum {
    int kind;
    uint64_t time_ns;
    uint64_t utc_ns;
    uint64_t interval_ns;
    uint64_t last_interval_ns;
    uint64_t valued_ns; /* of the readings that had a value: what a rate divides by */
    uint64_t count;
    size_t quantile_count;
    double value;     /* NAN: none yet */
    double last;      /* of the last reading */
    double deviation; /* of the last reading */
    double sum;       /* NAN: none yet */
    double weighed;   /* means times their counts */
    double squares;   /* what their deviations come from */
    double min;
    double max;
};

struct sn_point_series {
    struct sn_point_series *next; /* in its bucket */
    struct sn_point_series *next_touched;
    bool is_touched;
    bool is_held;   /* not to be handed out yet */
    bool has_parts; /* several instruments have its name and tags */
    bool has_point; /* `point` was handed out */
    bool has_raw;
    bool is_absolute;
    uint64_t hash;
    size_t bytes;
    uint64_t collection;
    double total;
    double raw;        /* total as told, at this collection */
    double raw_before; /* at the one before */
    double base;       /* to be added: the target began to count anew */
    uint64_t raw_ns;   /* when `raw` was told */
    struct sum sum;
    struct sonde_point point;
    struct sonde_quantile *quantiles; /* of histograms: those to come, then those of `point` */
    struct sonde_tag tags[];          /* then quantiles, then texts */
};

static const struct sum nothing = {
    .value = NAN, .last = NAN, .deviation = NAN, .sum = NAN, .min = NAN, .max = NAN};

void sn_point_series_set_init(struct sn_point_series_set *set, uint32_t pid)
{
    *set = (struct sn_point_series_set){.pid = pid, .refused = sn_table_with_limit(REFUSED_MAX)};
}

void sn_point_series_set_done(struct sn_point_series_set *set)
{
    for (size_t i = 0; i < SN_POINT_SERIES_BUCKETS; i++) {
        for (struct sn_point_series *series = set->buckets[i]; series;) {
            struct sn_point_series *next = series->next;
            free(series);
            series = next;
        }
        set->buckets[i] = NULL;
    }
    sn_table_done(&set->refused);
}

uint64_t sn_point_series_refused_count(const struct sn_point_series_set *set)
{
    return set->refused.count;
}

/* --- finding and making --- */

static uint64_t hash_of(const struct sn_reading *reading)
{
    uint64_t hash = sn_text_hash((uint64_t)reading->origin, reading->provider);
    hash = sn_text_hash(hash, reading->version);
    hash = sn_text_hash(hash, reading->name);
    return sn_text_hash(hash, reading->tag_text);
}

static bool is_same(const struct sn_point_series *series, const struct sn_reading *reading)
{
    const struct sonde_point *point = &series->point;
    return point->origin == reading->origin && strcmp(point->name, reading->name) == 0 &&
           strcmp(point->tag_text, reading->tag_text) == 0 &&
           strcmp(point->provider, reading->provider) == 0 &&
           strcmp(point->version, reading->version) == 0;
}

static struct sn_point_series *find(const struct sn_point_series_set *set, uint64_t hash,
                                    const struct sn_reading *reading)
{
    struct sn_point_series *series = set->buckets[hash % SN_POINT_SERIES_BUCKETS];
    while (series && !(series->hash == hash && is_same(series, reading)))
        series = series->next;
    return series;
}

static const char *keep(char **room, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*room, text, size);
    *room += size;
    return copy;
}

static void take_tags(struct sn_point_series *series, char *room)
{
    struct sn_metric_tag tags[TAG_MAX];
    size_t count = sn_metric_split_tags(room, tags, TAG_MAX);
    for (size_t i = 0; i < count; i++)
        series->tags[i] = (struct sonde_tag){.name = tags[i].name, .value = tags[i].value};
    series->point.tags = series->tags;
    series->point.tag_count = count;
}

static size_t most_tags(const char *text)
{
    size_t count = text[0] != '\0';
    for (; *text && count < TAG_MAX; text++)
        count += *text == ',';
    return count;
}

/* The bytes of all texts with their zeros, the tags twice: whole and split. 0: one is too long. */
static size_t text_bytes(const struct sn_reading *reading)
{
    const char *const texts[] = {reading->provider,     reading->version, reading->name,
                                 reading->display_name, reading->unit,    reading->tag_text,
                                 reading->tag_text};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        size_t size = strlen(texts[i]);
        if (size > TEXT_MAX)
            return 0;
        bytes += size + 1;
    }
    return bytes;
}

static void fill(struct sn_point_series *series, uint32_t pid, const struct sn_reading *reading,
                 char *room)
{
    struct sonde_point *point = &series->point;
    *point = (struct sonde_point){.pid = pid, .origin = reading->origin, .kind = reading->kind};
    point->provider = keep(&room, reading->provider);
    point->version = keep(&room, reading->version);
    point->name = keep(&room, reading->name);
    point->display_name = keep(&room, reading->display_name);
    if (!point->display_name[0])
        point->display_name = point->name;
    point->unit = keep(&room, reading->unit);
    point->tag_text = keep(&room, reading->tag_text);
    point->description = reading->description;
    memcpy(room, reading->tag_text, strlen(reading->tag_text) + 1);
    take_tags(series, room);
    series->sum = nothing;
    series->total = NAN;
}

static struct sn_point_series *make(struct sn_point_series_set *set, uint64_t hash,
                                    const struct sn_reading *reading)
{
    size_t texts = text_bytes(reading);
    size_t tag_count = most_tags(reading->tag_text);
    size_t quantiles = reading->kind == SONDE_POINT_HISTOGRAM ? 2 * SN_METRIC_QUANTILE_MAX : 0;
    size_t bytes = sizeof(struct sn_point_series) + tag_count * sizeof(struct sonde_tag) +
                   quantiles * sizeof(struct sonde_quantile) + texts;
    if (!texts || set->count == SERIES_MAX || set->bytes + bytes > MEMORY_MAX)
        return NULL;
    struct sn_point_series *series = calloc(1, bytes);
    if (!series)
        return NULL;
    struct sonde_quantile *behind = (struct sonde_quantile *)(series->tags + tag_count);
    series->quantiles = quantiles ? behind : NULL;
    fill(series, set->pid, reading, (char *)(behind + quantiles));
    series->hash = hash;
    series->bytes = bytes;
    series->next = set->buckets[hash % SN_POINT_SERIES_BUCKETS];
    set->buckets[hash % SN_POINT_SERIES_BUCKETS] = series;
    set->count++;
    set->bytes += bytes;
    return series;
}

/* --- summing up --- */

static double added(double left, double right)
{
    if (isnan(left))
        return right;
    return isnan(right) ? left : left + right;
}

static double least(double left, double right)
{
    return isnan(left) || right < left ? right : left;
}

static double most(double left, double right)
{
    return isnan(left) || right > left ? right : left;
}

static bool is_counted(int kind)
{
    return kind == SONDE_POINT_RATE || kind == SONDE_POINT_UP_DOWN;
}

static bool is_equal(double left, double right)
{
    return !(left < right) && !(left > right);
}

/* Nothing was taken away, and yet there is less: the first record of a new session was lost. */
static bool has_fallen(const struct sn_point_series *series, const struct sn_reading *reading)
{
    return reading->kind == SONDE_POINT_RATE && !series->has_parts &&
           reading->total < series->raw_before && !(reading->value < 0);
}

/* What counts since a session began goes on from where it was when the session begins anew: the
 * total is then what was just added, not what there was and that. */
static bool begins_anew(const struct sn_point_series *series, const struct sn_reading *reading)
{
    if (reading->is_absolute || isnan(reading->value) || is_equal(series->raw_before, 0))
        return false;
    return is_equal(reading->total, reading->value) || has_fallen(series, reading);
}

static void take_total(struct sn_point_series *series, const struct sn_reading *reading,
                       bool is_part)
{
    series->is_absolute = reading->is_absolute;
    if (isnan(reading->total)) {
        series->total = added(series->total, reading->value);
        return;
    }
    if (!is_part) {
        series->raw_before = series->raw;
        series->raw = 0;
        if (begins_anew(series, reading))
            series->base += series->raw_before;
    }
    series->raw += reading->total;
    series->raw_ns = reading->time_ns;
    series->has_raw = true;
    series->total = reading->is_absolute ? series->raw : series->base + series->raw;
}

/* The runtime does not tell what was added to an observable instrument when it first looks at it;
 * we may know where it stood. */
static void fill_gap(const struct sn_point_series *series, struct sn_reading *reading, bool is_part)
{
    if (!isnan(reading->value) || !reading->is_absolute || !series->has_raw || is_part ||
        reading->time_ns <= series->raw_ns)
        return;
    reading->value = reading->total - series->raw;
    reading->interval_ns = reading->time_ns - series->raw_ns;
}

/* A counter of one measurement looks like one that is polled, until it has more or none. */
static int kind_of(const struct sn_point_series *series, const struct sn_reading *reading)
{
    bool is_mean = series->point.kind == SONDE_POINT_MEAN || series->sum.kind == SONDE_POINT_MEAN;
    return is_mean && reading->kind == SONDE_POINT_GAUGE ? SONDE_POINT_MEAN : reading->kind;
}

static void add_numbers(struct sum *sum, const struct sn_reading *reading)
{
    double count = (double)reading->count;
    double spread = isnan(reading->deviation) ? 0 : reading->deviation * reading->deviation;
    sum->last = reading->value;
    sum->deviation = reading->deviation;
    sum->value = added(sum->value, reading->value);
    sum->sum = added(sum->sum, reading->sum);
    sum->count += reading->count;
    if (reading->count && !isnan(reading->value)) {
        sum->weighed += reading->value * count;
        sum->squares += (spread + reading->value * reading->value) * count;
    }
    sum->min = least(sum->min, reading->min);
    sum->max = most(sum->max, reading->max);
}

static void add_time(struct sum *sum, const struct sn_reading *reading)
{
    sum->interval_ns += reading->interval_ns;
    sum->last_interval_ns = reading->interval_ns;
    sum->valued_ns += isnan(reading->value) ? 0 : reading->interval_ns;
}

/* Those of the last interval that had measurements. */
static void take_quantiles(struct sn_point_series *series, const struct sn_reading *reading)
{
    size_t count = reading->quantile_count;
    if (!reading->count || !series->quantiles || count > SN_METRIC_QUANTILE_MAX)
        return;
    if (count)
        memcpy(series->quantiles, reading->quantiles, count * sizeof(*series->quantiles));
    series->sum.quantile_count = count;
}

static void add(struct sn_point_series *series, struct sn_reading reading)
{
    bool is_part = reading.collection && reading.collection == series->collection;
    struct sum *sum = &series->sum;
    sum->kind = kind_of(series, &reading);
    if (is_counted(reading.kind)) {
        fill_gap(series, &reading, is_part);
        take_total(series, &reading, is_part);
    }
    if (!is_part)
        add_time(sum, &reading);
    add_numbers(sum, &reading);
    take_quantiles(series, &reading);
    sum->time_ns = reading.time_ns;
    sum->utc_ns = reading.utc_ns;
    series->collection = reading.collection;
    series->is_held = reading.is_held;
    series->has_parts |= is_part;
}

static void touch(struct sn_point_series_set *set, struct sn_point_series *series)
{
    if (series->is_touched)
        return;
    series->is_touched = true;
    series->next_touched = set->touched;
    set->touched = series;
}

int sn_point_series_add(struct sn_point_series_set *set, const struct sn_reading *reading)
{
    uint64_t hash = hash_of(reading);
    struct sn_point_series *series = find(set, hash, reading);
    if (!series)
        series = make(set, hash, reading);
    if (!series) {
        (void)sn_table_put(&set->refused, hash);
        return SONDE_E_LIMIT;
    }
    add(series, *reading);
    touch(set, series);
    return SONDE_OK;
}

/* --- points --- */

static bool is_due(const struct sum *sum, uint64_t wanted_ns, bool is_provisional)
{
    if (!sum->interval_ns)
        return true;
    if (is_counted(sum->kind) && sum->interval_ns < RATE_LEAST_NS)
        return false;
    /* The nearest to what is wanted: intervals are never exact. */
    return is_provisional || sum->interval_ns + sum->last_interval_ns / 2 >= wanted_ns;
}

static double per_second(double value, uint64_t ns)
{
    return ns ? value / ((double)ns / (double)SN_NS_PER_SECOND) : NAN;
}

static void make_mean(struct sonde_point *point, const struct sum *sum)
{
    double count = (double)sum->count;
    double mean = sum->count ? sum->weighed / count : 0;
    double variance = sum->count ? sum->squares / count - mean * mean : 0;
    /* One record's numbers are the runtime's own, to the last bit. */
    bool is_one = sum->interval_ns == sum->last_interval_ns;
    point->value = is_one ? sum->last : mean;
    point->deviation = is_one ? sum->deviation : sqrt(variance > 0 ? variance : 0);
}

static void make_histogram(struct sonde_point *point, struct sn_point_series *series)
{
    const struct sum *sum = &series->sum;
    struct sonde_quantile *given = series->quantiles + SN_METRIC_QUANTILE_MAX;
    memcpy(given, series->quantiles, sum->quantile_count * sizeof(*given));
    point->quantiles = given;
    point->quantile_count = sum->quantile_count;
    point->rate = per_second((double)sum->count, sum->interval_ns);
    point->sum = sum->sum;
}

static void make_point(struct sn_point_series *series)
{
    struct sonde_point *point = &series->point;
    const struct sum *sum = &series->sum;
    bool has_spread = sum->kind == SONDE_POINT_MEAN || sum->kind == SONDE_POINT_HISTOGRAM;
    point->kind = sum->kind;
    point->time_ns = sum->time_ns;
    point->utc_ns = sum->utc_ns;
    point->interval_ns = sum->interval_ns;
    point->value = NAN;
    point->rate = NAN;
    point->sum = NAN;
    point->deviation = NAN;
    point->total = is_counted(sum->kind) ? series->total : NAN;
    point->is_absolute = is_counted(sum->kind) && series->is_absolute;
    point->count = has_spread ? sum->count : 0;
    point->min = has_spread ? sum->min : NAN;
    point->max = has_spread ? sum->max : NAN;
    if (sum->kind == SONDE_POINT_MEAN) {
        make_mean(point, sum);
    } else if (sum->kind == SONDE_POINT_HISTOGRAM && series->quantiles) {
        make_histogram(point, series);
    } else if (sum->kind == SONDE_POINT_GAUGE) {
        point->value = sum->last;
    } else {
        point->value = sum->value;
        point->rate = per_second(sum->value, sum->valued_ns);
    }
}

enum sn_points_told sn_point_series_flush(struct sn_point_series_set *set, uint64_t wanted_ns,
                                          bool is_provisional, sonde_point_fn *take, void *user)
{
    struct sn_point_series *series = set->touched;
    enum sn_points_told told = series ? SN_POINTS_KEPT : SN_POINTS_NONE;
    set->touched = NULL;
    while (series) {
        struct sn_point_series *next = series->next_touched;
        series->is_touched = false;
        if (series->is_held) {
            touch(set, series);
        } else if (is_due(&series->sum, wanted_ns, is_provisional)) {
            make_point(series);
            series->point.is_provisional = is_provisional;
            series->has_point = true;
            series->sum = nothing;
            if (take)
                take(user, &series->point);
            told = SN_POINTS_GIVEN;
        }
        series = next;
    }
    return told;
}

void sn_point_series_release(struct sn_point_series_set *set)
{
    for (struct sn_point_series *series = set->touched; series; series = series->next_touched)
        series->is_held = false;
}

/* --- going --- */

static void remove_at(struct sn_point_series_set *set, struct sn_point_series **slot)
{
    struct sn_point_series *series = *slot;
    struct sn_point_series **touched = &set->touched;
    while (*touched && *touched != series)
        touched = &(*touched)->next_touched;
    if (*touched)
        *touched = series->next_touched;
    *slot = series->next;
    set->count--;
    set->bytes -= series->bytes;
    free(series);
}

void sn_point_series_forget(struct sn_point_series_set *set, int origin, const char *provider)
{
    for (size_t i = 0; i < SN_POINT_SERIES_BUCKETS; i++) {
        for (struct sn_point_series **at = &set->buckets[i]; *at;) {
            if ((*at)->point.origin == origin && strcasecmp((*at)->point.provider, provider) == 0)
                remove_at(set, at);
            else
                at = &(*at)->next;
        }
    }
}

/* Longer than so many intervals, the wanted or its own, whichever is longer. */
static bool is_silent(const struct sn_point_series *series, uint64_t now_ns, uint64_t wanted_ns,
                      unsigned intervals, uint64_t least_ns)
{
    uint64_t interval = series->point.interval_ns;
    uint64_t silence = (interval > wanted_ns ? interval : wanted_ns) * intervals;
    uint64_t heard_ns = series->sum.time_ns ? series->sum.time_ns : series->point.time_ns;
    if (silence < least_ns)
        silence = least_ns;
    return now_ns > heard_ns && now_ns - heard_ns > silence;
}

void sn_point_series_sweep(struct sn_point_series_set *set, uint64_t now_ns, uint64_t wanted_ns)
{
    for (size_t i = 0; i < SN_POINT_SERIES_BUCKETS; i++) {
        for (struct sn_point_series **at = &set->buckets[i]; *at;) {
            if (is_silent(*at, now_ns, wanted_ns, FORGET_INTERVALS, FORGET_LEAST_NS))
                remove_at(set, at);
            else
                at = &(*at)->next;
        }
    }
}

void sn_point_series_each(const struct sn_point_series_set *set, uint64_t now_ns,
                          uint64_t wanted_ns, sonde_point_fn *take, void *user)
{
    for (size_t i = 0; i < SN_POINT_SERIES_BUCKETS; i++) {
        for (const struct sn_point_series *at = set->buckets[i]; at; at = at->next) {
            if (at->has_point && !is_silent(at, now_ns, wanted_ns, SILENT_INTERVALS, 0))
                take(user, &at->point);
        }
    }
}
