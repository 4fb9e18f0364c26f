/* sonde report: what is in a saved trace, and what is missing from it. */
#include "cli/commands.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "sonde/file.h"

#define OUTPUT_LIMIT  (64u << 20)
#define DEFAULT_KINDS 20u

struct arguments {
    uint64_t count;
    bool json;
};

static const struct sn_option options[] = {
    {0, "count", SN_OPTION_NUMBER, offsetof(struct arguments, count), "N",
     "kinds of events to show; default 20"},
    {0, "json", SN_OPTION_FLAG, offsetof(struct arguments, json), NULL,
     "one JSON object, with every kind"},
    SN_OPTIONS_END,
};

static void write_json(const struct sonde_summary *summary, struct sn_buf *out)
{
    struct sonde_file_totals totals;
    char start[32];
    sonde_summary_totals(summary, &totals);
    struct sn_json json = sn_json_to(out);
    sn_json_object(&json, NULL);
    sn_json_u64(&json, "format", totals.format);
    sn_json_u64(&json, "pid", totals.pid);
    sn_json_text(&json, "start", sn_clock_rfc3339(totals.start_utc_ns, start));
    sn_json_real(&json, "durationSeconds", (double)totals.duration_ns / 1e9);
    sn_json_u64(&json, "bytes", totals.byte_count);
    sn_json_u64(&json, "events", totals.event_count);
    sn_json_u64(&json, "lost", totals.lost_count);
    sn_json_u64(&json, "undeclared", totals.unknown_count);
    sn_json_bool(&json, "cut", totals.is_cut);
    sn_json_u64(&json, "damageCount", totals.damage_count);
    sn_json_array(&json, "damage");
    for (size_t i = 0; i < sonde_summary_damage_count(summary); i++) {
        const struct sonde_damage *damage = sonde_summary_damage(summary, i);
        sn_json_object(&json, NULL);
        sn_json_u64(&json, "offset", damage->offset);
        sn_json_u64(&json, "bytes", damage->bytes);
        sn_json_text(&json, "text", damage->text);
        sn_json_close(&json);
    }
    sn_json_close(&json);
    sn_json_array(&json, "kinds");
    for (size_t i = 0; i < sonde_summary_kind_count(summary); i++) {
        const struct sonde_event_kind *kind = sonde_summary_kind(summary, i);
        sn_json_object(&json, NULL);
        sn_json_text(&json, "provider", kind->provider);
        sn_json_text(&json, "name", kind->name);
        sn_json_u64(&json, "id", kind->id);
        sn_json_u64(&json, "version", kind->version);
        sn_json_u64(&json, "count", kind->count);
        sn_json_u64(&json, "withStack", kind->stack_count);
        sn_json_u64(&json, "payloadBytes", kind->payload_bytes);
        sn_json_u64(&json, "undecoded", kind->undecoded_count);
        sn_json_close(&json);
    }
    sn_json_close(&json);
    sn_json_close(&json);
}

static bool is_rundown(const struct sonde_event_kind *kind)
{
    return strcmp(kind->provider, "Microsoft-Windows-DotNETRuntimeRundown") == 0;
}

static void print_kind(const struct sonde_event_kind *kind)
{
    char number[32];
    char name[64];
    (void)snprintf(name, sizeof(name), "event %" PRIu32, kind->id);
    (void)printf("%12s  ", sn_text_count(kind->count, number));
    sn_terminal_cell(stdout, SN_STYLE_BOLD, kind->name[0] ? kind->name : name, 38);
    (void)printf(" %-3" PRIu32, kind->version);
    sn_terminal_put(stdout, SN_STYLE_NONE, kind->provider);
    (void)putchar('\n');
}

/* The rundown is the same in every trace and larger than most: one line for all of it. */
static void print_kinds(const struct sonde_summary *summary, uint64_t most)
{
    uint64_t rundown = 0;
    size_t shown = 0;
    size_t hidden = 0;
    (void)printf("\n%12s  %-38s %-3s%s\n", "EVENTS", "EVENT", "V", "PROVIDER");
    for (size_t i = 0; i < sonde_summary_kind_count(summary); i++) {
        const struct sonde_event_kind *kind = sonde_summary_kind(summary, i);
        if (is_rundown(kind))
            rundown += kind->count;
        else if (shown < most && ++shown)
            print_kind(kind);
        else
            hidden++;
    }
    char number[32];
    if (hidden)
        (void)printf("%12s  and %zu more kinds (--count)\n", "", hidden);
    if (rundown)
        (void)printf("%12s  rundown: names of methods and modules\n",
                     sn_text_count(rundown, number));
}

static void print_missing(const struct sonde_summary *summary,
                          const struct sonde_file_totals *totals)
{
    char number[32];
    if (totals->lost_count)
        (void)printf("lost      %s events that the runtime had no room for\n",
                     sn_text_count(totals->lost_count, number));
    if (totals->is_cut)
        (void)puts(
            "cut       the file ends before the trace did: the target or the tool was killed");
    if (totals->unknown_count)
        (void)printf("unknown   %s events whose declaration is missing\n",
                     sn_text_count(totals->unknown_count, number));
    size_t kept = sonde_summary_damage_count(summary);
    for (size_t i = 0; i < kept; i++) {
        const struct sonde_damage *damage = sonde_summary_damage(summary, i);
        (void)printf("damage    at byte %" PRIu64 ", %" PRIu64 " bytes passed over: ",
                     damage->offset, damage->bytes);
        sn_terminal_put(stdout, SN_STYLE_WARN, damage->text);
        (void)putchar('\n');
    }
    if (totals->damage_count > kept)
        (void)printf("damage    and in %s more places\n",
                     sn_text_count(totals->damage_count - kept, number));
}

static void print_text(const char *path, const struct sonde_summary *summary, uint64_t most)
{
    struct sonde_file_totals totals;
    char text[3][32];
    sonde_summary_totals(summary, &totals);
    sn_terminal_put(stdout, SN_STYLE_BOLD, path);
    (void)printf("\nformat    NetTrace %" PRIu32 ", %s\n", totals.format,
                 sn_text_bytes(totals.byte_count, text[0]));
    (void)printf("process   %" PRIu32 ", %" PRIu32 " processors\n", totals.pid,
                 totals.processor_count);
    (void)printf("start     %s, for %s\n", sn_clock_rfc3339(totals.start_utc_ns, text[0]),
                 sn_text_duration(totals.duration_ns, text[1]));
    (void)printf("events    %s of %zu kinds\n", sn_text_count(totals.event_count, text[2]),
                 sonde_summary_kind_count(summary));
    print_missing(summary, &totals);
    print_kinds(summary, most);
}

static void sonde_summary_free_auto(struct sonde_summary **slot)
{
    sonde_summary_free(*slot);
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    if (operands->count != 1) {
        (void)sn_fail(&err, SONDE_E_ARGUMENT, 0, "which file? 'sonde report FILE.nettrace'");
        return sn_command_fail(&err);
    }
    SN_AUTO(sonde_summary_free) struct sonde_summary *summary = NULL;
    if (sonde_file_summarize(operands->words[0], &summary, &err) != SONDE_OK)
        return sn_command_fail(&err);
    struct sonde_file_totals totals;
    sonde_summary_totals(summary, &totals);
    int code = totals.is_cut || totals.damage_count ? SN_EXIT_PARTIAL : SN_EXIT_DONE;
    if (!arguments->json) {
        print_text(operands->words[0], summary,
                   arguments->count ? arguments->count : DEFAULT_KINDS);
        return code;
    }
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_LIMIT);
    write_json(summary, &out);
    return sn_terminal_flush(&out) ? code : SN_EXIT_FAILED;
}

const struct sn_command sn_cmd_report = {
    .name = "report",
    .usage = "FILE.nettrace [--count N] [--json]",
    .summary = "show what is in a saved trace, and what is missing from it",
    .examples = "  sonde report shop.nettrace\n"
                "  sonde report shop.nettrace --json | jq .lost\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .operand_max = 1,
    .run = run,
};
