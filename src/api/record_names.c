#include "api/record_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/method_event.h"
#include "api/native_naming.h"
#include "api/perf_maps.h"
#include "api/record_hits.h"
#include "api/stub_naming.h"
#include "api/symbol_writer.h"
#include "base/err.h"
#include "base/own.h"
#include "format/nettrace_reader.h"
#include "model/event.h"
#include "model/schema.h"
#include "sink/archive/journal.h"

/* Of the journal at a time, so that a turn stays short. */
#define CHUNK_SIZE    (64u << 10)
#define CHUNKS_A_TURN 16u

/* No method of precompiled code is longer; what lies further from a start belongs to another. */
#define LONGEST_METHOD (64u << 10)

enum step { FIND, SORT, NAME_MANAGED, NAME_STUBS, NAME_NATIVE, NAME_KERNEL, DONE };

struct sn_naming {
    struct sn_naming_options options;
    enum step step;
    struct sn_hits *hits;
    struct sn_symbol_writer *writer;
    struct sn_native_naming *native;
    struct sn_nettrace_reader *reader;
    int fd;
    uint64_t size;   /* of the journal before names */
    uint64_t offset; /* read so far */
    uint8_t *chunk;
    struct sonde_error err; /* why something could not be written */
};

/* --- methods that were hit --- */

/* How many of them had no name before. */
static size_t mark(struct sn_hit *hits, size_t count)
{
    size_t marked = 0;
    for (size_t i = 0; i < count; i++) {
        marked += !hits[i].is_named;
        hits[i].is_named = true;
    }
    return marked;
}

/* As the rundown at an end would: the events of the recording may be too early for other readers,
 * who take a method that was told of for one that was freed. */
static int write_method(struct sn_naming *naming, uint32_t process,
                        const struct sn_method_event *method)
{
    if (!sn_hits_is_newest(naming->hits, process))
        return SONDE_OK; /* it would name the code of another */
    return sn_symbol_writer_put_method(naming->writer, sn_hits_pid(naming->hits, process), method,
                                       &naming->err);
}

static int name_method(struct sn_naming *naming, uint32_t process, const struct sn_event *event)
{
    struct sn_method_event method;
    struct sn_hit *hits = NULL;
    if (!sn_method_event_read(event, &method) || !method.size)
        return SONDE_OK;
    size_t count =
        sn_hits_range(naming->hits, process, method.start, method.start + method.size, &hits);
    return mark(hits, count) ? write_method(naming, process, &method) : SONDE_OK;
}

/* Only where it begins is known. Whatever of precompiled code runs was looked up first, so a hit
 * belongs to the nearest start before it. */
static int name_entry(struct sn_naming *naming, uint32_t process, const struct sn_event *event)
{
    struct sn_method_event method;
    struct sn_hit *hits = NULL;
    if (!sn_entry_event_read(event, &method))
        return SONDE_OK;
    uint64_t end = sn_hits_next_start(naming->hits, process, method.start);
    if (end > method.start + LONGEST_METHOD)
        end = method.start + LONGEST_METHOD;
    size_t count = sn_hits_range(naming->hits, process, method.start, end, &hits);
    while (count && hits[count - 1].mapping != hits[0].mapping)
        count--;
    if (!mark(hits, count))
        return SONDE_OK;
    const struct sn_hit_mapping *mapping = sn_hits_mapping(naming->hits, hits[0].mapping);
    /* A return address may lie one behind its call. */
    method.size = (uint32_t)(sn_hit_address(&hits[count - 1]) - method.start + 2);
    method.module_id = mapping ? sn_hits_module_id(naming->hits, process, mapping->path) : 0;
    return write_method(naming, process, &method);
}

/* --- passes over the journal --- */

static int find_hits(void *user, const struct sn_event *event)
{
    struct sn_naming *naming = user;
    sn_hits_take(naming->hits, event);
    return SONDE_OK;
}

static int name_managed(void *user, const struct sn_event *event)
{
    struct sn_naming *naming = user;
    enum sn_hit_event kind = sn_hit_event_of(event);
    if (kind == SN_HIT_NOTHING && !event->stack_depth)
        return SONDE_OK;
    uint32_t process = sn_hits_process(naming->hits, event);
    if (process == SN_HITS_NOBODY)
        return SONDE_OK;
    if (kind == SN_HIT_METHOD)
        return name_method(naming, process, event);
    if (kind == SN_HIT_ENTRY)
        return name_entry(naming, process, event);
    return SONDE_OK;
}

static int begin_pass(struct sn_naming *naming, int (*event)(void *, const struct sn_event *),
                      struct sonde_error *err)
{
    struct sn_nettrace_ops ops = {.event = event};
    naming->offset = 0;
    sn_nettrace_reader_free(naming->reader);
    naming->reader = NULL;
    return sn_nettrace_reader_new(&ops, naming, &naming->reader, err);
}

/* SONDE_OK: the pass is complete. */
static int go_on(struct sn_naming *naming, struct sonde_error *err)
{
    for (unsigned i = 0; i < CHUNKS_A_TURN && naming->offset < naming->size; i++) {
        uint64_t left = naming->size - naming->offset;
        size_t wanted = left < CHUNK_SIZE ? (size_t)left : CHUNK_SIZE;
        ssize_t got = pread(naming->fd, naming->chunk, wanted, (off_t)naming->offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return sn_fail_errno(err, "cannot read the journal");
        naming->offset += (uint64_t)got;
        int rc = sn_nettrace_reader_feed(naming->reader, naming->chunk, (size_t)got, err);
        if (naming->err.status)
            return sn_fail_as(err, &naming->err);
        if (rc != SONDE_OK)
            return rc;
    }
    return naming->offset < naming->size ? SONDE_AGAIN : SONDE_OK;
}

/* --- the steps --- */

static int open_trace(struct sn_naming *naming, struct sonde_error *err)
{
    char path[PATH_MAX];
    struct stat status;
    int rc = sn_journal_flush(naming->options.journal, err);
    if (rc != SONDE_OK)
        return rc;
    (void)sn_journal_path(naming->options.journal, "trace.nettrace", path, sizeof(path));
    naming->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (naming->fd < 0 || fstat(naming->fd, &status) != 0)
        return sn_fail_errno(err, "cannot read '%s'", path);
    naming->size = (uint64_t)status.st_size;
    return SONDE_OK;
}

int sn_naming_new(const struct sn_naming_options *options, struct sn_naming **ret_naming,
                  struct sonde_error *err)
{
    struct sn_naming *naming = calloc(1, sizeof(*naming));
    if (!naming)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    naming->options = *options;
    naming->fd = -1;
    naming->chunk = malloc(CHUNK_SIZE);
    int rc = naming->chunk ? SONDE_OK : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    if (rc == SONDE_OK)
        rc = open_trace(naming, err);
    if (rc == SONDE_OK)
        rc = sn_hits_new(&naming->hits, err);
    if (rc == SONDE_OK)
        rc = sn_symbol_writer_new(options->journal, options->time_ns, &naming->writer, err);
    if (rc == SONDE_OK)
        rc = begin_pass(naming, find_hits, err);
    if (rc != SONDE_OK) {
        sn_naming_free(naming);
        return rc;
    }
    *ret_naming = naming;
    return SONDE_OK;
}

void sn_naming_free(struct sn_naming *naming)
{
    if (!naming)
        return;
    sn_nettrace_reader_free(naming->reader);
    sn_native_naming_free(naming->native);
    sn_hits_free(naming->hits);
    sn_symbol_writer_free(naming->writer);
    sn_close(naming->fd);
    free(naming->chunk);
    free(naming);
}

static int sort(struct sn_naming *naming, struct sonde_error *err)
{
    int rc = sn_hits_sort(naming->hits, err);
    sn_hits_rewind(naming->hits);
    return rc == SONDE_OK ? begin_pass(naming, name_managed, err) : rc;
}

static int begin_native(struct sn_naming *naming, struct sonde_error *err)
{
    sn_nettrace_reader_free(naming->reader);
    naming->reader = NULL;
    const struct sn_naming_options *options = &naming->options;
    int rc = sn_native_naming_new(naming->hits, options->objects, options->is_foreign,
                                  naming->writer, &naming->native, err);
    if (rc == SONDE_OK && options->with_lines)
        sn_native_naming_want_lines(naming->native);
    return rc;
}

static int name_stubs(struct sn_naming *naming, struct sonde_error *err)
{
    const struct sn_perf_maps *maps = naming->options.perf_maps;
    size_t count = maps ? sn_perf_maps_count(maps) : 0;
    int rc = SONDE_OK;
    for (size_t i = 0; i < count && rc == SONDE_OK; i++) {
        uint32_t pid = 0;
        SN_AUTO(sn_close) int fd = sn_perf_maps_open(maps, i, &pid);
        if (fd >= 0)
            rc = sn_stub_naming(naming->hits, pid, fd, naming->writer, err);
    }
    return rc;
}

static int take_step(struct sn_naming *naming, struct sonde_error *err)
{
    switch (naming->step) {
    case FIND: return go_on(naming, err);
    case SORT: return sort(naming, err);
    case NAME_MANAGED: {
        int rc = go_on(naming, err);
        return rc == SONDE_OK ? begin_native(naming, err) : rc;
    }
    case NAME_STUBS: return name_stubs(naming, err);
    case NAME_NATIVE: return sn_native_naming_turn(naming->native, err);
    case NAME_KERNEL: return sn_native_naming_kernel(naming->native, err);
    case DONE: break;
    }
    return SONDE_OK;
}

int sn_naming_turn(struct sn_naming *naming, struct sonde_error *err)
{
    int rc = take_step(naming, err);
    if (rc != SONDE_OK)
        return rc;
    if (naming->step < DONE)
        naming->step = (enum step)(naming->step + 1);
    return naming->step == DONE ? SONDE_OK : SONDE_AGAIN;
}

static uint64_t count_named(const struct sn_naming *naming, bool is_named)
{
    size_t count = 0;
    uint64_t found = 0;
    if (naming->step <= SORT)
        return 0;
    const struct sn_hit *hits = sn_hits_all(naming->hits, &count);
    for (size_t i = 0; i < count; i++)
        found += hits[i].is_named == is_named;
    return found;
}

uint64_t sn_naming_named(const struct sn_naming *naming)
{
    uint64_t kernel = naming->native ? sn_native_naming_kernel_named(naming->native) : 0;
    return count_named(naming, true) + kernel;
}

uint64_t sn_naming_unnamed(const struct sn_naming *naming)
{
    size_t all = 0;
    if (naming->step <= SORT)
        return 0;
    (void)sn_hits_kernel(naming->hits, &all);
    uint64_t kernel = naming->native ? sn_native_naming_kernel_named(naming->native) : 0;
    return count_named(naming, false) + all - kernel + sn_hits_dropped(naming->hits);
}
