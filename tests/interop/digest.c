/* Prints what our reader sees in a .nettrace file in the words of tests/interop/traceevent, so that
 * the two can be compared with cmp; README.md there has the columns.
 *
 *   interop_digest FILE                 one sorted line per event
 *   interop_digest --counts FILE        events by provider, id and version, and the lost ones
 *   interop_digest --rewrite 4|6 IN OUT the same events, written anew
 *   interop_digest --decode FILE        reads every payload to its last byte by its schema
 *
 * Exit status 1: the file is damaged, or a payload is not what its schema says. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "clr/runtime_events.h"
#include "format/nettrace_reader.h"
#include "format/nettrace_writer.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"
#include "model/trace_info.h"

#define TEXT_MAX  ((size_t)2 << 30)
#define CHUNK     65536u
#define FNV_START 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

/* Lines to be printed sorted by bytes. */
struct lines {
    struct sn_buf text;
    struct sn_buf offsets; /* size_t each */
};

/* All events of one provider, id and version. */
struct kind {
    const struct sn_schema *schema;
    uint64_t count;
    uint64_t opaque; /* the stream declares no fields, and there is no row, but bytes are sent */
    uint64_t unreadable; /* the payload is shorter than its schema says, or does not fit it */
    uint64_t unfinished; /* events with bytes behind the last field */
};

struct task {
    struct lines lines;
    struct sn_buf kinds;          /* struct kind each */
    struct sn_buf kind_of_schema; /* uint32_t each, by schema->index */
    struct sn_nettrace_writer *writer;
    uint32_t version; /* to write */
    int out;
    int damages;
    bool is_v4;
    uint64_t lost_before_first; /* version 4: what TraceEvent does not count */
};

static int fail(const char *file, int rc, const struct sonde_error *err)
{
    (void)fprintf(stderr, "interop_digest: %s: %s\n", file,
                  err->status ? err->text : sonde_status_name(rc));
    return 1;
}

static void end_line(struct lines *lines, size_t start)
{
    sn_buf_u8(&lines->text, 0);
    sn_buf_append(&lines->offsets, &start, sizeof(start));
}

static int compare_lines(const void *left, const void *right)
{
    const char *const *a = left;
    const char *const *b = right;
    return strcmp(*a, *b);
}

static int print_sorted(const struct lines *lines)
{
    size_t count = lines->offsets.size / sizeof(size_t);
    SN_AUTO(sn_free) const char **sorted = calloc(count + 1, sizeof(*sorted));
    if (!sorted || lines->text.failed || lines->offsets.failed)
        return SONDE_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        size_t offset;
        memcpy(&offset, lines->offsets.bytes + i * sizeof(offset), sizeof(offset));
        sorted[i] = (const char *)lines->text.bytes + offset;
    }
    qsort(sorted, count, sizeof(*sorted), compare_lines);
    for (size_t i = 0; i < count; i++)
        (void)puts(sorted[i]);
    return SONDE_OK;
}

static uint64_t hash_byte(uint64_t hash, uint8_t byte)
{
    return (hash ^ byte) * FNV_PRIME;
}

static uint64_t hash_payload(const uint8_t *bytes, size_t size)
{
    uint64_t hash = FNV_START;
    for (size_t i = 0; i < size; i++)
        hash = hash_byte(hash, bytes[i]);
    return hash;
}

/* Addresses as 8 bytes each, however wide they are in the file. */
static uint64_t hash_stack(const struct sn_event *event, uint32_t depth)
{
    uint64_t hash = FNV_START;
    for (uint32_t i = 0; i < depth; i++)
        for (uint32_t j = 0; j < 8; j++)
            hash = hash_byte(
                hash, j < event->pointer_size ? event->stack[i * event->pointer_size + j] : 0);
    return hash;
}

static void put_guid(struct sn_buf *buf, const uint8_t *guid)
{
    sn_buf_u8(buf, '\t');
    for (int i = 0; i < 16; i++)
        sn_buf_format(buf, "%02x", guid ? guid[i] : 0u);
}

/* TraceEvent takes some events for ones whose stack is of no use. */
static bool has_stack_there(const struct sn_schema *schema)
{
    uint16_t id = (uint16_t)schema->event_id;
    if (strcmp(schema->provider, sn_clr_provider_name(SN_CLR_RUNDOWN)) == 0)
        return false;
    return strcmp(schema->provider, sn_clr_provider_name(SN_CLR_RUNTIME)) != 0 ||
           !((id >= 140 && id <= 144) || id == 190);
}

static int add_digest(void *user, const struct sn_event *event)
{
    struct task *task = user;
    struct sn_buf *text = &task->lines.text;
    size_t start = text->size;
    uint16_t size = (uint16_t)event->payload_size;
    uint32_t depth = has_stack_there(event->schema) ? event->stack_depth : 0;

    sn_buf_format(text, "%s\t%u\t%u\t%u\t%u\t%" PRId64, event->schema->provider,
                  (unsigned)(uint16_t)event->schema->event_id,
                  (unsigned)(uint8_t)event->schema->version, event->pid, (uint32_t)event->thread_id,
                  (int64_t)event->time_ns);
    put_guid(text, event->activity);
    put_guid(text, event->related);
    sn_buf_format(text, "\t%u\t%016" PRIx64, (unsigned)size, hash_payload(event->payload, size));
    sn_buf_format(text, "\t%u\t%016" PRIx64, depth, hash_stack(event, depth));
    end_line(&task->lines, start);
    return SONDE_OK;
}

static struct kind *kind_at(const struct task *task, size_t place)
{
    return (struct kind *)(void *)task->kinds.bytes + place;
}

static size_t kind_count(const struct task *task)
{
    return task->kinds.size / sizeof(struct kind);
}

/* A stream may declare the same event twice. */
static int add_schema(void *user, struct sn_schema *schema)
{
    struct task *task = user;
    uint32_t place = 0;
    for (; place < kind_count(task); place++) {
        const struct sn_schema *known = kind_at(task, place)->schema;
        if (known->event_id == schema->event_id && known->version == schema->version &&
            strcmp(known->provider, schema->provider) == 0)
            break;
    }
    if (place == kind_count(task)) {
        struct kind kind = {.schema = schema};
        sn_buf_append(&task->kinds, &kind, sizeof(kind));
    }
    while (task->kind_of_schema.size <= schema->index * sizeof(place))
        sn_buf_u32(&task->kind_of_schema, 0);
    if (task->kinds.failed || task->kind_of_schema.failed)
        return SONDE_E_NOMEM;
    memcpy(task->kind_of_schema.bytes + schema->index * sizeof(place), &place, sizeof(place));
    return SONDE_OK;
}

static struct kind *kind_of(const struct task *task, const struct sn_event *event)
{
    uint32_t place;
    memcpy(&place, task->kind_of_schema.bytes + event->schema->index * sizeof(place),
           sizeof(place));
    return kind_at(task, place);
}

static int count_event(void *user, const struct sn_event *event)
{
    kind_of(user, event)->count++;
    return SONDE_OK;
}

static int decode_event(void *user, const struct sn_event *event)
{
    struct kind *kind = kind_of(user, event);
    struct sn_payload payload;
    struct sn_value value;
    int rc = SONDE_OK;

    kind->count++;
    if (!event->schema->has_layout) {
        kind->opaque += event->payload_size != 0;
        return SONDE_OK;
    }
    sn_payload_start(&payload, event);
    while (rc == SONDE_OK)
        rc = sn_payload_next(&payload, &value);
    if (rc != SONDE_END)
        kind->unreadable++;
    else if (sn_payload_left(&payload))
        kind->unfinished++;
    return SONDE_OK;
}

static int print_counts(struct task *task, const struct sn_nettrace_reader *reader)
{
    for (size_t i = 0; i < kind_count(task); i++) {
        const struct kind *kind = kind_at(task, i);
        size_t start = task->lines.text.size;
        if (!kind->count)
            continue;
        sn_buf_format(&task->lines.text, "%s\t%u\t%u\t%" PRIu64, kind->schema->provider,
                      (unsigned)(uint16_t)kind->schema->event_id,
                      (unsigned)(uint8_t)kind->schema->version, kind->count);
        end_line(&task->lines, start);
    }
    int rc = print_sorted(&task->lines);
    (void)printf("lost\t%" PRIu64 "\n",
                 sn_nettrace_reader_counters(reader).lost - task->lost_before_first);
    return rc;
}

/* Our table must have a row for the very version, even where the stream brings the fields. */
static bool has_row(const struct sn_schema *schema, int provider)
{
    const struct sn_clr_event *row =
        sn_clr_event_find((enum sn_clr_provider)provider, schema->event_id, schema->version);
    return row && row->version == schema->version;
}

/* Programs' own events may be opaque: runtimes declare no fields for some argument types. */
static int judge(const struct kind *kind)
{
    const struct sn_schema *schema = kind->schema;
    int provider = sn_clr_provider_find(schema->provider, strlen(schema->provider));
    const char *wrong = NULL;

    if (provider >= 0 && !has_row(schema, provider))
        wrong = "has no row in the table";
    else if (kind->unreadable || (provider >= 0 && kind->opaque))
        wrong = "cannot be read by its fields";
    else if (kind->unfinished)
        wrong = "goes on behind its last field";
    if (wrong)
        (void)fprintf(stderr, "%s id %u version %u (%s) %s\n", schema->provider, schema->event_id,
                      schema->version, schema->name, wrong);
    return wrong != NULL;
}

static int print_decoded(struct task *task)
{
    int bad = 0;
    for (size_t i = 0; i < kind_count(task); i++) {
        const struct kind *kind = kind_at(task, i);
        size_t start = task->lines.text.size;
        if (!kind->count)
            continue;
        sn_buf_format(
            &task->lines.text, "%s\t%u\t%u\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64,
            kind->schema->provider, kind->schema->event_id, kind->schema->version,
            kind->schema->name, kind->count, kind->opaque, kind->unreadable, kind->unfinished);
        end_line(&task->lines, start);
        bad |= judge(kind);
    }
    return print_sorted(&task->lines) != SONDE_OK || bad;
}

static int write_bytes(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    const struct task *task = user;
    return sn_file_write_all(task->out, bytes, size, err);
}

static int start_writer(void *user, const struct sn_trace_info *info)
{
    struct task *task = user;
    return sn_nettrace_writer_new(task->version, info, write_bytes, task, &task->writer, NULL);
}

static int write_event(void *user, const struct sn_event *event)
{
    struct task *task = user;
    return sn_nettrace_writer_event(task->writer, event, NULL);
}

static int write_loss(void *user, const struct sn_nettrace_loss *loss)
{
    struct task *task = user;
    return sn_nettrace_writer_lost(task->writer, loss, NULL);
}

static int write_sequence_point(void *user, uint64_t time_ns)
{
    struct task *task = user;
    return sn_nettrace_writer_sequence_point(task->writer, time_ns, NULL);
}

static int report_damage(void *user, const struct sn_nettrace_damage *damage)
{
    struct task *task = user;
    task->damages++;
    (void)fprintf(stderr, "interop_digest: byte %" PRIu64 ": %s\n", damage->offset, damage->text);
    return SONDE_OK;
}

static bool describe(void *user, struct sn_schema *schema, struct sn_arena *arena)
{
    (void)user;
    (void)arena;
    return sn_clr_describe(schema);
}

static int feed_file(struct sn_nettrace_reader *reader, const char *path, struct sonde_error *err)
{
    static uint8_t chunk[CHUNK];
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sn_fail_errno(err, "cannot be read");
    int rc = SONDE_OK;
    ssize_t size = read(fd, chunk, sizeof(chunk));
    for (; rc == SONDE_OK && size > 0; size = read(fd, chunk, sizeof(chunk)))
        rc = sn_nettrace_reader_feed(reader, chunk, (size_t)size, err);
    return rc == SONDE_OK ? sn_nettrace_reader_finish(reader, err) : rc;
}

static const struct sn_nettrace_ops digest_ops = {
    .event = add_digest,
    .damage = report_damage,
};

static int note_version(void *user, const struct sn_trace_info *info)
{
    ((struct task *)user)->is_v4 = info->format_version == 4;
    return SONDE_OK;
}

static int note_loss(void *user, const struct sn_nettrace_loss *loss)
{
    struct task *task = user;
    if (task->is_v4 && loss->is_before_first)
        task->lost_before_first += loss->count;
    return SONDE_OK;
}

static const struct sn_nettrace_ops count_ops = {
    .trace = note_version,
    .schema = add_schema,
    .event = count_event,
    .lost = note_loss,
    .damage = report_damage,
};

static const struct sn_nettrace_ops decode_ops = {
    .schema = add_schema,
    .event = decode_event,
    .damage = report_damage,
};

static const struct sn_nettrace_ops rewrite_ops = {
    .trace = start_writer,
    .event = write_event,
    .lost = write_loss,
    .sequence_point = write_sequence_point,
    .damage = report_damage,
};

/* What is to be done once all was read. */
static int conclude(struct task *task, const struct sn_nettrace_ops *ops,
                    const struct sn_nettrace_reader *reader)
{
    if (ops == &digest_ops)
        return print_sorted(&task->lines);
    if (ops == &count_ops)
        return print_counts(task, reader);
    if (ops == &decode_ops)
        return print_decoded(task);
    return task->writer ? sn_nettrace_writer_finish(task->writer, NULL) : SONDE_E_FORMAT;
}

static int run(struct task *task, const struct sn_nettrace_ops *ops, const char *file)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    int rc = sn_nettrace_reader_new(ops, task, &reader, &err);
    if (rc == SONDE_OK) {
        sn_nettrace_reader_set_layouts(reader, describe, NULL);
        rc = feed_file(reader, file, &err);
    }
    if (rc == SONDE_OK && !task->damages)
        rc = conclude(task, ops, reader);
    sn_nettrace_writer_free(task->writer); /* before the schemas, which are the reader's */
    if (rc != SONDE_OK)
        return ops == &decode_ops && rc > 0 ? 1 : fail(file, rc, &err);
    return task->damages || fflush(stdout) != 0;
}

static int rewrite(struct task *task, const char *version, const char *in, const char *out)
{
    struct sonde_error err = {0};
    task->version = version[0] == '4' ? 4 : 6;
    SN_AUTO(sn_close) int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail(out, sn_fail_errno(&err, "cannot be written"), &err);
    task->out = fd;
    return run(task, &rewrite_ops, in);
}

static int run_as_asked(struct task *task, int argc, char **argv)
{
    if (argc == 2 && argv[1][0] != '-')
        return run(task, &digest_ops, argv[1]);
    if (argc == 3 && strcmp(argv[1], "--counts") == 0)
        return run(task, &count_ops, argv[2]);
    if (argc == 3 && strcmp(argv[1], "--decode") == 0)
        return run(task, &decode_ops, argv[2]);
    if (argc == 5 && strcmp(argv[1], "--rewrite") == 0 &&
        (strcmp(argv[2], "4") == 0 || strcmp(argv[2], "6") == 0))
        return rewrite(task, argv[2], argv[3], argv[4]);
    (void)fputs("usage: interop_digest [--counts|--decode|--rewrite 4|6] FILE [OUT]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct task task = {
        .lines = {sn_buf_with_limit(TEXT_MAX), sn_buf_with_limit(TEXT_MAX)},
        .kinds = sn_buf_with_limit(TEXT_MAX),
        .kind_of_schema = sn_buf_with_limit(TEXT_MAX),
    };
    int status = run_as_asked(&task, argc, argv);
    sn_buf_done(&task.lines.text);
    sn_buf_done(&task.lines.offsets);
    sn_buf_done(&task.kinds);
    sn_buf_done(&task.kind_of_schema);
    return status;
}
