#include "cli/config_problems.h"

#include <stdio.h>

#include "cli/terminal.h"

void sn_config_print_problems(const struct sn_configuration *configuration)
{
    for (size_t i = 0; i < configuration->problem_count; i++) {
        const struct sn_settings_problem *problem = &configuration->problems[i];
        sn_terminal_put(stderr, SN_STYLE_NONE,
                        configuration->path[0] ? configuration->path : "sonde");
        if (problem->line)
            (void)fprintf(stderr, ":%u", problem->line);
        sn_terminal_put(stderr, problem->is_warning ? SN_STYLE_WARN : SN_STYLE_BAD,
                        problem->is_warning ? ": warning: " : ": ");
        sn_terminal_put(stderr, SN_STYLE_NONE, problem->text);
        (void)fputc('\n', stderr);
    }
}
