#include "symbol/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"

#define BLOCK_SIZE    16384u
#define NAME_SIZE     640u /* the longest the kernel knows is 512, then its module */
#define FUNCTION_MAX  0x10000u
#define SYMBOL_MAX    (4u << 20)
#define NAMES_LIMIT   (256u << 20)
#define SYSCTL_SIZE   16u
#define KPTR_RESTRICT "/proc/sys/kernel/kptr_restrict"

/* One line, taken apart. */
struct line {
    uint64_t start;
    bool is_code;
    const char *name; /* with its module, borrowed for the call */
};

typedef bool line_fn(void *user, const struct line *line);

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "ffffffff81000000 T vfs_read\t[module]", without its end. */
static bool parse_line(const char *text, size_t size, char name[NAME_SIZE], struct line *ret_line)
{
    const char *at = text;
    const char *end = text + size;
    uint64_t start = 0;
    for (; at < end && hex_digit(*at) >= 0; at++)
        start = start << 4 | (uint64_t)hex_digit(*at);
    if (at == text || end - at < 4 || at[0] != ' ' || at[2] != ' ')
        return false;
    size_t length = (size_t)(end - at) - 3;
    if (length >= NAME_SIZE)
        length = NAME_SIZE - 1;
    memcpy(name, at + 3, length);
    name[length] = 0;
    char *tab = strchr(name, '\t');
    if (tab)
        *tab = ' ';
    *ret_line = (struct line){start, strchr("tTwW", at[1]) != NULL, name};
    return true;
}

/* Takes the whole lines in `block`; how many bytes they were, or SIZE_MAX when `take` is done. */
static size_t take_lines(const char *block, size_t size, line_fn *take, void *user)
{
    char name[NAME_SIZE];
    size_t done = 0;
    const char *end;
    while ((end = memchr(block + done, '\n', size - done))) {
        struct line line = {0};
        size_t length = (size_t)(end - block) - done;
        if (parse_line(block + done, length, name, &line) && !take(user, &line))
            return SIZE_MAX;
        done += length + 1;
    }
    return done;
}

static int walk(const char *path, line_fn *take, void *user, struct sonde_error *err)
{
    char block[BLOCK_SIZE];
    size_t have = 0;
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sn_fail_errno(err, "cannot open %s, so kernel functions have no names", path);
    for (;;) {
        ssize_t got = read(fd, block + have, sizeof(block) - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sn_fail_errno(err, "cannot read %s", path);
        if (got == 0)
            return SONDE_OK;
        have += (size_t)got;
        size_t done = take_lines(block, have, take, user);
        if (done == SIZE_MAX)
            return SONDE_OK;
        if (done == 0 && have == sizeof(block))
            done = have; /* no line is that long */
        have -= done;
        memmove(block, block + done, have);
    }
}

static int fail_hidden(const char *path, struct sonde_error *err)
{
    char value[SYSCTL_SIZE] = "";
    (void)sn_file_peek_at(AT_FDCWD, KPTR_RESTRICT, value, sizeof(value) - 1); /* "" without */
    if (value[0] == '2')
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "the kernel hides its addresses in %s from everybody: set "
                       "kernel.kptr_restrict to 1, and run as root or with CAP_SYSLOG",
                       path);
    return sn_fail(err, SONDE_E_DENIED, 0,
                   "the kernel hides its addresses in %s from us: run as root or with CAP_SYSLOG",
                   path);
}

static uint64_t function_size(uint64_t start, uint64_t next)
{
    return next - start < FUNCTION_MAX ? next - start : FUNCTION_MAX;
}

/* ---- a batch, in one pass ---- */

struct place {
    uint64_t address;
    uint64_t start; /* of the last symbol at or before it */
    uint64_t next;  /* of the first symbol after it */
    char *name;     /* owns; NULL: what begins at `start` is no code */
};

struct batch {
    struct place *places; /* owns; sorted by address */
    size_t count;
    bool has_addresses; /* some symbol's is not 0 */
};

static void free_batch(struct batch *batch)
{
    for (size_t i = 0; batch->places && i < batch->count; i++)
        free(batch->places[i].name);
    free(batch->places);
}

/* The first place that is not below. */
static size_t first_at(const struct batch *batch, uint64_t address)
{
    return sn_array_first(batch->places, batch->count, sizeof(*batch->places), address);
}

/* Notes a symbol at the places beside it. Of names for the same address the first one stays. */
static bool note(void *user, const struct line *line)
{
    struct batch *batch = user;
    size_t at = first_at(batch, line->start);
    batch->has_addresses |= line->start != 0;
    if (at > 0 && line->start < batch->places[at - 1].next)
        batch->places[at - 1].next = line->start;
    if (at == batch->count || line->start < batch->places[at].start)
        return true;
    struct place *place = &batch->places[at];
    if (line->start == place->start && (place->name || !line->is_code))
        return true;
    free(place->name);
    place->start = line->start;
    place->name = line->is_code ? strdup(line->name) : NULL;
    return true;
}

/* Symbols were noted at the places beside them only: carries ends back, then names on. */
static void tell(const struct batch *batch, sn_kallsyms_fn *found, void *user)
{
    struct place *places = batch->places;
    uint64_t start = 0;
    for (size_t i = batch->count; i-- > 1;) {
        if (places[i].next < places[i - 1].next)
            places[i - 1].next = places[i].next;
    }
    const struct place *last = NULL; /* the nearest symbol so far */
    for (size_t i = 0; i < batch->count; i++) {
        if (!last || places[i].start > last->start)
            last = &places[i];
        uint64_t size = function_size(last->start, places[i].next);
        bool is_in = last->name && last->start && places[i].address - last->start < size;
        if (is_in && last->start != start) {
            const struct sn_kallsyms_symbol symbol = {last->start, size, last->name};
            start = last->start;
            found(user, &symbol);
        }
    }
}

int sn_kallsyms_search(const char *path, const uint64_t *addresses, size_t count,
                       sn_kallsyms_fn *found, void *user, struct sonde_error *err)
{
    struct batch batch = {.places = calloc(count ? count : 1, sizeof(*batch.places)),
                          .count = count};
    if (!batch.places)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for %zu kernel addresses", count);
    for (size_t i = 0; i < count; i++)
        batch.places[i] = (struct place){.address = addresses[i], .next = UINT64_MAX};
    int rc = walk(path, note, &batch, err);
    if (rc == SONDE_OK && !batch.has_addresses)
        rc = fail_hidden(path, err);
    if (rc == SONDE_OK)
        tell(&batch, found, user);
    free_batch(&batch);
    return rc;
}

/* ---- all of them ---- */

struct function {
    uint64_t start;
    uint32_t size;
    uint32_t name; /* in `names`; UINT32_MAX: no code, a bound only */
};

struct sn_kallsyms {
    struct function *items; /* owns; sorted */
    size_t count;
    size_t capacity;
    struct sn_buf names; /* each with its zero */
    bool has_addresses;
    bool is_over; /* a ceiling or memory */
};

static bool keep(void *user, const struct line *line)
{
    struct sn_kallsyms *all = user;
    struct function *items = all->count < SYMBOL_MAX ? sn_array_room(all->items, all->count,
                                                                     &all->capacity, sizeof(*items))
                                                     : NULL;
    if (items)
        all->items = items;
    uint32_t name = line->is_code ? (uint32_t)all->names.size : UINT32_MAX;
    if (line->is_code)
        sn_buf_append(&all->names, line->name, strlen(line->name) + 1);
    if (!items || all->names.failed) {
        all->is_over = true;
        return false;
    }
    items[all->count++] = (struct function){.start = line->start, .name = name};
    all->has_addresses |= line->start != 0;
    return true;
}

/* By address; at the same one code first, in the order of the file. */
static int compare(const void *left, const void *right)
{
    const struct function *one = left;
    const struct function *other = right;
    if (one->start != other->start)
        return one->start < other->start ? -1 : 1;
    return one->name < other->name ? -1 : one->name > other->name;
}

/* Bounds become sizes, then only code stays. */
static void settle_all(struct sn_kallsyms *all)
{
    uint64_t next = UINT64_MAX;
    size_t kept = 0;
    if (all->count)
        qsort(all->items, all->count, sizeof(*all->items), compare);
    for (size_t i = all->count; i-- > 0;) {
        struct function *item = &all->items[i];
        if (i + 1 < all->count && all->items[i + 1].start != item->start)
            next = all->items[i + 1].start;
        item->size = (uint32_t)function_size(item->start, next);
    }
    for (size_t i = 0; i < all->count; i++) {
        const struct function *item = &all->items[i];
        bool is_alias = kept && all->items[kept - 1].start == item->start;
        if (item->name != UINT32_MAX && item->start && !is_alias)
            all->items[kept++] = *item;
    }
    all->count = kept;
    struct function *items = realloc(all->items, (kept ? kept : 1) * sizeof(*items));
    if (items)
        all->items = items;
}

int sn_kallsyms_new(const char *path, struct sn_kallsyms **ret_kallsyms, struct sonde_error *err)
{
    struct sn_kallsyms *all = calloc(1, sizeof(*all));
    int rc = SONDE_OK;
    if (!all)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for kernel symbols");
    all->names = sn_buf_with_limit(NAMES_LIMIT);
    rc = walk(path, keep, all, err);
    if (rc == SONDE_OK && all->is_over)
        rc = sn_fail(err, SONDE_E_LIMIT, 0, "%s holds more symbols than fit", path);
    if (rc == SONDE_OK && !all->has_addresses)
        rc = fail_hidden(path, err);
    if (rc != SONDE_OK) {
        sn_kallsyms_free(all);
        return rc;
    }
    settle_all(all);
    *ret_kallsyms = all;
    return SONDE_OK;
}

void sn_kallsyms_free(struct sn_kallsyms *kallsyms)
{
    if (!kallsyms)
        return;
    free(kallsyms->items);
    sn_buf_done(&kallsyms->names);
    free(kallsyms);
}

bool sn_kallsyms_find(const struct sn_kallsyms *kallsyms, uint64_t address,
                      struct sn_kallsyms_symbol *ret_symbol)
{
    size_t low = 0;
    size_t high = kallsyms->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kallsyms->items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct function *item = low ? &kallsyms->items[low - 1] : NULL;
    if (!item || address - item->start >= item->size)
        return false;
    *ret_symbol = (struct sn_kallsyms_symbol){item->start, item->size,
                                              (const char *)kallsyms->names.bytes + item->name};
    return true;
}
