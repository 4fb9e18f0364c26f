/* Reports for other programs: a trace read once over, shown in any way and any number of times. */
#include "sonde/report.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/file_summary.h"
#include "api/options_in.h"
#include "api/profile_internal.h"
#include "api/read_report.h"
#include "base/err.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/report_html.h"
#include "convert/report_show.h"
#include "convert/report_text.h"
#include "model/report.h"

#define DEFAULT_COUNT 15u
#define DEFAULT_WIDTH 100u

struct sonde_report {
    struct sonde_summary *summary;
    struct sn_report *report;
    struct sn_file_facts file;
    struct sn_event_kind *kinds;
    struct sn_file_damage *damages;
    char *path;
};

static void sonde_report_free_auto(struct sonde_report **slot)
{
    sonde_report_free(*slot);
}

/* --- reading --- */

static int take_facts(struct sonde_report *report, struct sonde_error *err)
{
    struct sonde_file_totals totals;
    sonde_summary_totals(report->summary, &totals);
    size_t kind_count = sonde_summary_kind_count(report->summary);
    size_t damage_count = sonde_summary_damage_count(report->summary);
    report->kinds = calloc(kind_count + 1, sizeof(*report->kinds));
    report->damages = calloc(damage_count + 1, sizeof(*report->damages));
    if (!report->kinds || !report->damages)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a report");
    for (size_t i = 0; i < kind_count; i++) {
        const struct sonde_event_kind *kind = sonde_summary_kind(report->summary, i);
        report->kinds[i] = (struct sn_event_kind){.provider = kind->provider,
                                                  .name = kind->name,
                                                  .id = kind->id,
                                                  .version = kind->version,
                                                  .count = kind->count,
                                                  .stack_count = kind->stack_count,
                                                  .payload_bytes = kind->payload_bytes,
                                                  .undecoded_count = kind->undecoded_count};
    }
    for (size_t i = 0; i < damage_count; i++) {
        const struct sonde_damage *damage = sonde_summary_damage(report->summary, i);
        report->damages[i] = (struct sn_file_damage){
            .offset = damage->offset, .bytes = damage->bytes, .text = damage->text};
    }
    report->file = (struct sn_file_facts){.path = report->path,
                                          .format = totals.format,
                                          .pid = totals.pid,
                                          .processor_count = totals.processor_count,
                                          .start_utc_ns = totals.start_utc_ns,
                                          .duration_ns = totals.duration_ns,
                                          .byte_count = totals.byte_count,
                                          .event_count = totals.event_count,
                                          .lost_count = totals.lost_count,
                                          .damage_count = totals.damage_count,
                                          .unknown_count = totals.unknown_count,
                                          .is_cut = totals.is_cut,
                                          .kinds = report->kinds,
                                          .kind_count = kind_count,
                                          .damages = report->damages,
                                          .kept_damage_count = damage_count};
    return SONDE_OK;
}

int sonde_report_read(const char *path, const struct sonde_report_options *options,
                      struct sonde_report **ret_report, struct sonde_error *err)
{
    struct sonde_report_options asked;
    int rc = sn_options_in(options, &asked, sizeof(asked), "report options", err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sonde_report_free) struct sonde_report *report = calloc(1, sizeof(*report));
    if (!report || !(report->path = strdup(path)))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a report");
    rc = sn_summary_new(&report->summary, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_read_end end;
    const struct sn_read_options reading = {.with_lines = asked.with_lines,
                                            .process = asked.process,
                                            .names = asked.names,
                                            .from_ns = asked.from_ns,
                                            .to_ns = asked.to_ns,
                                            .cpu_record = asked.cpu_record,
                                            .summary = report->summary};
    rc = sn_read_report(path, &reading, &report->report, &end, err);
    if (rc == SONDE_OK)
        rc = take_facts(report, err);
    if (rc != SONDE_OK)
        return rc;
    report->file.start_utc_ns = end.start_utc_ns; /* of this file: it may be one of several */
    *ret_report = SN_TAKE(report);
    return SONDE_OK;
}

void sonde_report_free(struct sonde_report *report)
{
    if (!report)
        return;
    sn_report_free(report->report);
    sonde_summary_free(report->summary);
    free(report->kinds);
    free(report->damages);
    free(report->path);
    free(report);
}

const struct sonde_summary *sonde_report_summary(const struct sonde_report *report)
{
    return report->summary;
}

/* --- showing --- */

#define SECTION_MAX 32u

static const char *section_names[SECTION_MAX + 1]; /* filled once, whoever asks first */

static void fill_section_names(void)
{
    for (size_t i = 0; i < SECTION_MAX && sn_report_sections[i].name; i++)
        section_names[i] = sn_report_sections[i].name;
}

const char *const *sonde_report_sections(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, fill_section_names);
    return section_names;
}

static bool is_section(const char *name, size_t size)
{
    for (const struct sn_report_section *section = sn_report_sections; section->name; section++) {
        if (strlen(section->name) == size && strncmp(section->name, name, size) == 0)
            return true;
    }
    return false;
}

static void list_sections(struct sn_buf *to)
{
    for (const struct sn_report_section *section = sn_report_sections; section->name; section++) {
        sn_buf_text(to, section == sn_report_sections ? "" : ", ");
        sn_buf_text(to, section->name);
    }
}

static int check_sections(const char *sections, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf names = sn_buf_with_limit(1024);
    for (const char *word = sections; word && *word;) {
        size_t size = strcspn(word, ",");
        if (!is_section(word, size)) {
            list_sections(&names);
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "there is no section '%.*s'; there are %s",
                           (int)size, word, sn_buf_string(&names));
        }
        word += size + (word[size] == ',');
    }
    return SONDE_OK;
}

static void list_views(const struct sonde_report *report, struct sn_report_show *show)
{
    for (int view = 0; view < SONDE_VIEW_COUNT; view++) {
        const struct sn_profile *profile = sn_view_profile(report->report, view);
        if (!profile || show->view_count == SN_SHOW_VIEW_MAX)
            continue;
        show->views[show->view_count++] = (struct sn_show_view){
            .name = sonde_view_name(view),
            .title = sn_view_title(view),
            .profile = profile,
            .column = sn_profile_column(profile, sn_view_column(view)),
            .is_of_waits = view == SONDE_VIEW_WAIT && report->report->cpu_truth == SN_CPU_SAMPLED};
    }
}

static void list_view_names(const struct sn_report_show *show, struct sn_buf *to)
{
    for (size_t i = 0; i < show->view_count; i++) {
        sn_buf_text(to, i ? ", " : "; there are ");
        sn_buf_text(to, show->views[i].name);
    }
}

static int nothing_for(const struct sn_report_show *show, const char *name, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf names = sn_buf_with_limit(1024);
    list_view_names(show, &names);
    return sn_fail(err, SONDE_E_NOT_FOUND, 0, "the trace has nothing for the view '%s'%s%s", name,
                   sn_view_needs_cpu(name) && show->report->cpu_truth == SN_CPU_NO_RECORD
                       ? ": there is no CPU record beside it"
                       : "",
                   sn_buf_string(&names));
}

/* Which view the lists of methods are of: the one asked for, else CPU, else wall time. */
static int choose_view(struct sn_report_show *show, const char *name, struct sonde_error *err)
{
    if (name && sonde_view_find(name) < 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "there is no view '%.64s'", name);
    bool has_waits = show->report->cpu_truth != SN_CPU_SAMPLED || show->report->off_cpu.event_count;
    if (name && !has_waits && (strcmp(name, "wait") == 0 || strcmp(name, "wall") == 0))
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "the recording does not have waits; 'sonde record --off-cpu' takes them");
    show->primary = -1;
    for (size_t i = 0; i < show->view_count && show->primary < 0; i++) {
        if (name ? strcmp(show->views[i].name, name) == 0
                 : strcmp(show->views[i].name, "cpu") == 0 ||
                       strcmp(show->views[i].name, "wall") == 0)
            show->primary = (int)i;
    }
    if (name && show->primary < 0)
        return nothing_for(show, name, err);
    return SONDE_OK;
}

int sonde_report_write(const struct sonde_report *report, const struct sonde_report_show *show,
                       sonde_write_fn *write, void *user, struct sonde_error *err)
{
    struct sonde_report_show asked;
    int rc = sn_options_in(show, &asked, sizeof(asked), "show options", err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_report_show shown = {.report = report->report,
                                   .file = &report->file,
                                   .sections = asked.sections,
                                   .count = asked.count ? asked.count : DEFAULT_COUNT,
                                   .method = asked.method,
                                   .with_tree = asked.with_tree,
                                   .with_framework = asked.with_framework};
    list_views(report, &shown);
    rc = check_sections(asked.sections, err);
    if (rc == SONDE_OK)
        rc = choose_view(&shown, asked.view, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_writer writer = {.write = write, .user = user};
    SN_AUTO(sn_stream_done) struct sn_stream stream;
    sn_stream_init(&stream, sn_writer_write, &writer);
    struct sn_text_report page = {.out = &stream,
                                  .has_colour = asked.has_colour,
                                  .width = asked.width ? asked.width : DEFAULT_WIDTH,
                                  .count = shown.count};
    if (asked.format == SONDE_REPORT_JSON)
        sn_report_json_write(&stream, &shown);
    else if (asked.format == SONDE_REPORT_HTML)
        sn_report_html_write(&stream, &shown);
    else
        sn_report_text_write(&page, &shown);
    return sn_stream_finish(&stream, err);
}
