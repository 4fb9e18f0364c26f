/* dotnet-trace report FILE topN: the methods on the stacks the longest. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/dotnet_trace.h"
#include "cli/terminal.h"
#include "sonde/profile.h"

#define NAME_LIMIT    (1u << 20)
#define NAME_WIDTH    70
#define MEASURE_WIDTH 20

struct arguments {
    int32_t number;
    int inclusive;
    int verbose;
};

struct line {
    struct sn_buf name; /* "Module!Type.Method(arguments)" */
    uint64_t self;
    uint64_t total;
    size_t order; /* where it was found first */
};

/* --- sums --- */

/* Time spent in these counts for whoever called them, and they are not shown. */
static bool is_folded(const struct sonde_frame *frame)
{
    return frame->kind == SONDE_FRAME_RUNTIME &&
           (strcmp(frame->full_name, "CPU_TIME") == 0 ||
            strcmp(frame->full_name, "UNMANAGED_CODE_TIME") == 0);
}

static uint32_t shown_frame(const struct sonde_profile *profile, struct sonde_node node)
{
    struct sonde_frame frame;
    while (node.frame != UINT32_MAX && sonde_profile_frame(profile, node.frame, &frame) &&
           is_folded(&frame))
        (void)sonde_profile_node(profile, node.parent, &node);
    return node.frame;
}

/* self[frame] and total[frame], with the folded frames' own time given to their callers. */
static uint64_t *fold(const struct sonde_profile *profile, size_t frame_count)
{
    uint64_t *self = calloc(frame_count + 1, sizeof(*self));
    for (size_t i = 0; self && i < sonde_profile_node_count(profile); i++) {
        struct sonde_node node;
        (void)sonde_profile_node(profile, i, &node);
        uint32_t frame = node.self ? shown_frame(profile, node) : UINT32_MAX;
        if (frame != UINT32_MAX)
            self[frame] += node.self;
    }
    return self;
}

/* --- names --- */

/* "Module!Type.Method(arguments)" without the namespace: "Type.Method(arguments)". */
static void print_name_of(const char *full, struct sn_buf *to)
{
    const char *open = strchr(full, '.') ? strchr(strchr(full, '.'), '(') : NULL;
    const char *close = open ? strrchr(open, ')') : NULL;
    if (strcmp(full, "?!?") == 0) {
        sn_buf_text(to, "Missing Symbol");
        return;
    }
    if (!close) {
        sn_buf_text(to, full);
        return;
    }
    /* as much of the name as has a dot in it before the last bracket that opens */
    for (const char *later = open; (later = strchr(later + 1, '(')) && later < close;)
        open = later;
    const char *start = open;
    int dots = 0;
    while (start > full && (start[-1] != '.' || ++dots < 2))
        start--;
    sn_buf_append(to, start, (size_t)(close + 1 - start));
}

/* Two decimals at most and none that say nothing: "38.44%", "10%". */
static const char *percent(uint64_t part, uint64_t whole, char to[32])
{
    double hundredths = whole ? (double)part * 10000.0 / (double)whole : 0;
    uint64_t rounded = (uint64_t)(hundredths + 0.5);
    int length = snprintf(to, 32, "%" PRIu64 ".%02" PRIu64, rounded / 100, rounded % 100);
    while (to[length - 1] == '0')
        to[--length] = '\0';
    if (to[length - 1] == '.')
        to[--length] = '\0';
    (void)snprintf(to + length, 32 - (size_t)length, "%%");
    return to;
}

/* --- the table --- */

static int digits_of(size_t number)
{
    char text[24];
    return snprintf(text, sizeof(text), "%zu", number);
}

/* `text` cut or filled up to `width` characters; what is behind that is returned. */
static const char *put_fixed(const char *text, size_t width)
{
    size_t size = 0;
    size_t count = 0;
    for (; text[size]; size++) {
        bool begins = ((unsigned char)text[size] & 0xC0u) != 0x80u;
        if (begins && count++ == width)
            break;
    }
    SN_AUTO(sn_free) char *part = strndup(text, size);
    sn_terminal_put(stdout, SN_STYLE_NONE, part ? part : "");
    if (count < width)
        (void)printf("%*s", (int)(width - count), "");
    return text + size;
}

static void print_line(const struct line *line, size_t rank, int digits, uint64_t whole,
                       bool is_verbose)
{
    char inclusive[32];
    char exclusive[32];
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(NAME_LIMIT);
    struct sn_buf full = line->name;
    print_name_of(sn_buf_string(&full), &name);
    (void)printf("%zu.%*s", rank, digits - digits_of(rank) + 1, "");
    const char *rest = put_fixed(sn_buf_string(&name), NAME_WIDTH);
    (void)printf("    %-*s%-*s\n", MEASURE_WIDTH, percent(line->total, whole, inclusive),
                 MEASURE_WIDTH, percent(line->self, whole, exclusive));
    while (is_verbose && *rest) {
        (void)printf("%*s", digits + 2, "");
        rest = put_fixed(rest, NAME_WIDTH);
        (void)printf("    %-*s%-*s\n", MEASURE_WIDTH, "", MEASURE_WIDTH, "");
    }
}

static void print_table(const struct line *lines, size_t count, const struct arguments *arguments,
                        uint64_t whole)
{
    char header[64];
    int digits = digits_of(count);
    if (!count) {
        (void)fputs("[WARNING] No method calls found\n", stderr);
        return;
    }
    (void)snprintf(header, sizeof(header), "Top %zu Functions (%s)", count,
                   arguments->inclusive == SN_NET_ON ? "Inclusive" : "Exclusive");
    (void)printf("%-*s%*s%-*s%-*s\n", NAME_WIDTH + 7, header, digits - 1, "", MEASURE_WIDTH,
                 "Inclusive", MEASURE_WIDTH, "Exclusive");
    for (size_t i = 0; i < count; i++)
        print_line(&lines[i], i + 1, digits, whole, arguments->verbose == SN_NET_ON);
}

/* --- reading --- */

static int by_self(const void *left, const void *right)
{
    const struct line *a = left;
    const struct line *b = right;
    if (a->self != b->self)
        return a->self < b->self ? 1 : -1;
    return (a->order > b->order) - (a->order < b->order);
}

static int by_total(const void *left, const void *right)
{
    const struct line *a = left;
    const struct line *b = right;
    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    return (a->order > b->order) - (a->order < b->order);
}

/* dotnet-trace leaves out everything with one of these in its name. */
static bool is_unwanted(const char *name)
{
    return strstr(name, "ROOT") || strstr(name, "Process");
}

static size_t list_frames(const struct sonde_profile *profile, const uint64_t *self,
                          struct line *lines)
{
    size_t count = 0;
    struct sonde_frame frame;
    for (size_t i = 0; sonde_profile_frame(profile, i, &frame); i++) {
        struct line *line = &lines[count];
        *line = (struct line){.name = sn_buf_with_limit(NAME_LIMIT),
                              .self = self[i],
                              .total = frame.total,
                              .order = i};
        if (!frame.total || is_folded(&frame))
            continue;
        if (frame.module[0])
            sn_buf_format(&line->name, "%s!", frame.module);
        sn_buf_text(&line->name, frame.full_name);
        if (is_unwanted(sn_buf_string(&line->name)))
            sn_buf_done(&line->name);
        else
            count++;
    }
    return count;
}

static void report(const struct sonde_profile *profile, const struct arguments *arguments)
{
    size_t frame_count = sonde_profile_frame_count(profile);
    SN_AUTO(sn_free) uint64_t *self = fold(profile, frame_count);
    SN_AUTO(sn_free) struct line *lines = calloc(frame_count + 1, sizeof(*lines));
    size_t count = self && lines ? list_frames(profile, self, lines) : 0;
    size_t most = arguments->number > 0 ? (size_t)arguments->number : 0;
    if (count)
        qsort(lines, count, sizeof(*lines), arguments->inclusive == SN_NET_ON ? by_total : by_self);
    print_table(lines, count < most ? count : most, arguments, sonde_profile_total(profile));
    for (size_t i = 0; i < count; i++)
        sn_buf_done(&lines[i].name);
}

static int run_top(const struct sn_net_line *line)
{
    struct sonde_profile *profile = NULL;
    struct sonde_error err = {0};
    struct sonde_profile_options options = {
        .size = sizeof(options), .view = SONDE_VIEW_THREAD_TIME, .with_events = true};
    if (!line->operand)
        return sn_dotnet_fail(SN_DOTNET_SESSION, "Which trace? Its name stands before topN.");
    int rc = sonde_profile_read(line->operand, &options, &profile, &err);
    if (rc != SONDE_OK)
        return sn_dotnet_fail(SN_DOTNET_SESSION, "%s", err.text);
    bool is_partial = sonde_profile_is_partial(profile);
    if (!is_partial)
        report(profile, line->arguments);
    sn_dotnet_tell_dropped(profile);
    sonde_profile_free(profile);
    if (is_partial) /* dotnet-trace fails, and scripts count on it */
        return sn_dotnet_fail(SN_DOTNET_SESSION,
                              "'%s' is cut or damaged; 'sonde report' shows what is in it.",
                              line->operand);
    return SN_DOTNET_OK;
}

static int run_alone(const struct sn_net_line *line)
{
    (void)line;
    (void)fputs("Error: a subcommand is missing. There is:\n"
                "    topN: the N methods that were on the stacks the longest.\n",
                stderr);
    return SN_DOTNET_NO_SUBCOMMAND;
}

static const struct sn_net_option options[] = {
    {"--number", "-n", SN_NET_INT, offsetof(struct arguments, number), NULL, false,
     "How many methods. [default: 5]"},
    {"--inclusive", NULL, SN_NET_SWITCH, offsetof(struct arguments, inclusive), NULL, false,
     "Order by time with everything that was called; by default by time in the method itself."},
    {"--verbose", "-v", SN_NET_SWITCH, offsetof(struct arguments, verbose), NULL, false,
     "Show names in full, over several lines."},
    SN_NET_OPTIONS_END,
};

static const struct arguments defaults = {.number = 5};

static const struct sn_net_command top = {
    .name = "topN",
    .path = "report <trace_filename> topN ",
    .summary = "Lists the N methods that were on the stacks the longest.",
    .operand = "trace_filename",
    .operand_help = "The trace.",
    .operand_is_before = true,
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .defaults = &defaults,
    .run = run_top,
};

static const struct sn_net_command *const children[] = {&top, NULL};

const struct sn_net_command sn_dotnet_report = {
    .name = "report",
    .path = "report <trace_filename> ",
    .summary = "Reports on a trace that was collected before.",
    .operand = "trace_filename",
    .operand_help = "The trace.",
    .needs_operand = true,
    .children = children,
    .run = run_alone,
};
