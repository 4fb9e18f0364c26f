/* sonde config: explains a configuration of sonde export, or prints an example of one. */
#include "cli/commands.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "cli/config_problems.h"
#include "cli/terminal.h"
#include "sink/export/explain.h"
#include "sink/export/settings.h"

#define OUTPUT_LIMIT (16u << 20)

struct arguments {
    bool json;
};

static const struct sn_option options[] = {
    {0, "json", SN_OPTION_FLAG, offsetof(struct arguments, json), NULL, "check: one JSON object"},
    SN_OPTIONS_END,
};

static int print_example(void)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_LIMIT);
    sn_settings_example(&out);
    out.size--; /* the flush ends the last line */
    return sn_terminal_flush(&out) ? SN_EXIT_DONE : SN_EXIT_FAILED;
}

/* Sections that were not written have nothing to say unless they decide something. */
static bool is_worth_telling(const struct sn_settings *settings)
{
    return settings->line || strcmp(settings->kind->name, "labels") != 0;
}

static void print_sections(struct sn_configuration *configuration)
{
    char title[96];
    int width = sn_settings_title_width(configuration);
    for (size_t i = 0; i < configuration->section_count; i++) {
        const struct sn_settings *settings = configuration->sections[i];
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(OUTPUT_LIMIT);
        if (!is_worth_telling(settings))
            continue;
        sn_settings_explain(configuration, settings, &text);
        sn_terminal_cell(stdout, SN_STYLE_BOLD, sn_settings_title(settings, title), width);
        (void)putchar(' ');
        sn_terminal_put(stdout, SN_STYLE_NONE, sn_buf_string(&text));
        (void)putchar('\n');
    }
}

static bool write_json(struct sn_configuration *configuration)
{
    char title[96];
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_LIMIT);
    struct sn_json json = sn_json_to(&out);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "file", configuration->path);
    sn_json_bool(&json, "good", configuration->error_count == 0);
    sn_json_array(&json, "problems");
    for (size_t i = 0; i < configuration->problem_count; i++) {
        const struct sn_settings_problem *problem = &configuration->problems[i];
        sn_json_object(&json, NULL);
        sn_json_u64(&json, "line", problem->line);
        sn_json_text(&json, "severity", problem->is_warning ? "warning" : "error");
        sn_json_text(&json, "text", problem->text);
        sn_json_close(&json);
    }
    sn_json_close(&json);
    sn_json_array(&json, "sections");
    for (size_t i = 0; i < configuration->section_count; i++) {
        const struct sn_settings *settings = configuration->sections[i];
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(OUTPUT_LIMIT);
        sn_settings_explain(configuration, settings, &text);
        sn_json_object(&json, NULL);
        sn_json_text(&json, "section", sn_settings_title(settings, title));
        sn_json_u64(&json, "line", settings->line);
        sn_json_text(&json, "means", sn_buf_string(&text));
        sn_json_close(&json);
    }
    sn_json_close(&json);
    sn_json_close(&json);
    return sn_terminal_flush(&out);
}

static int check(const char *path, bool as_json)
{
    SN_AUTO(sn_configuration_free) struct sn_configuration *configuration = NULL;
    struct sonde_error err = {0};
    bool is_written = true;
    int rc = sn_configuration_read(path, &configuration, &err);
    if (rc == SONDE_OK)
        rc = sn_configuration_check(configuration, &err);
    if (rc != SONDE_OK)
        return sn_command_fail(&err);
    if (as_json)
        is_written = write_json(configuration);
    else {
        sn_config_print_problems(configuration);
        if (!configuration->error_count)
            print_sections(configuration);
    }
    if (configuration->error_count)
        return SN_EXIT_USAGE;
    return is_written && fflush(stdout) == 0 ? SN_EXIT_DONE : SN_EXIT_FAILED;
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    const char *verb = operands->count ? operands->words[0] : "";
    struct sonde_error err = {0};
    if (strcmp(verb, "example") == 0 && operands->count == 1 && !arguments->json)
        return print_example();
    if (strcmp(verb, "check") == 0 && operands->count == 2)
        return check(operands->words[1], arguments->json);
    (void)sn_fail(&err, SONDE_E_ARGUMENT, 0,
                  "'config check FILE' explains a file, 'config example' prints one");
    return sn_command_fail(&err);
}

const struct sn_command sn_cmd_config = {
    .name = "config",
    .usage = "(check FILE [--json] | example)",
    .summary = "explain a configuration of sonde export, or print an example of one",
    .examples = "  sonde config example > sonde.ini\n"
                "  sonde config check sonde.ini\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .operand_max = 2,
    .words = "check example",
    .is_offline = true,
    .run = run,
};
