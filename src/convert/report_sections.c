#include <string.h>

#include "convert/report_json.h"
#include "convert/report_show.h"
#include "convert/report_text.h"

const struct sn_report_section sn_report_sections[] = {
    {"file", false, true, NULL, NULL, sn_report_text_file, sn_report_json_file},
    {"processes", false, false, sn_report_text_processes, sn_report_json_processes, NULL, NULL},
    {"methods", false, false, NULL, NULL, sn_report_text_methods, sn_report_json_profiles},
    {"callers", true, true, NULL, NULL, sn_report_text_neighbours, sn_report_json_neighbours},
    {"tree", true, true, NULL, NULL, sn_report_text_tree, sn_report_json_tree},
    {"threads", false, true, NULL, NULL, sn_report_text_threads, sn_report_json_threads},
    {"modules", true, true, NULL, NULL, sn_report_text_modules, NULL},
    {"namespaces", true, true, NULL, NULL, sn_report_text_namespaces, NULL},
    {"off-cpu", false, false, sn_report_text_off_cpu, sn_report_json_off_cpu, NULL, NULL},
    {"run-queue", false, false, sn_report_text_run_queue, sn_report_json_run_queue, NULL, NULL},
    {"syscalls", false, false, sn_report_text_syscalls, sn_report_json_syscalls, NULL, NULL},
    {"suspension", false, false, sn_report_text_suspension, sn_report_json_suspension, NULL, NULL},
    {"gc", false, false, sn_report_text_gc, sn_report_json_gc, NULL, NULL},
    {"exceptions", false, false, sn_report_text_exceptions, sn_report_json_exceptions, NULL, NULL},
    {"allocations", false, false, sn_report_text_allocations, sn_report_json_allocations, NULL,
     NULL},
    {"contention", false, false, sn_report_text_contention, sn_report_json_contention, NULL, NULL},
    {"jit", false, false, sn_report_text_jit, sn_report_json_jit, NULL, NULL},
    {"threadpool", false, false, sn_report_text_pool, sn_report_json_pool, NULL, NULL},
    {"requests", false, false, sn_report_text_requests, sn_report_json_requests, NULL, NULL},
    {"tasks", false, false, sn_report_text_tasks, sn_report_json_tasks, NULL, NULL},
    {"events", false, true, NULL, NULL, sn_report_text_events, sn_report_json_events},
    {0},
};

/* Whether `name` is a word of a list with commas. */
static bool is_listed(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *word = list; *word; word += strcspn(word, ",")) {
        word += *word == ',';
        if (strcspn(word, ",") == size && strncmp(word, name, size) == 0)
            return true;
    }
    return false;
}

bool sn_report_shows(const struct sn_report_show *show, const struct sn_report_section *section)
{
    bool is_about_methods = strcmp(section->name, "callers") == 0;
    if (is_about_methods || (show->method && !show->sections))
        return show->method && (is_about_methods || strcmp(section->name, "file") == 0);
    if (strcmp(section->name, "tree") == 0 && show->with_tree)
        return true;
    if (show->sections)
        return is_listed(show->sections, section->name);
    return !section->is_extra;
}
