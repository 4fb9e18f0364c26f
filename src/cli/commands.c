#include "cli/commands.h"

#include <string.h>

#include "base/err.h"
#include "cli/terminal.h"
#include "sonde/process.h"

extern const struct sn_command sn_cmd_ps;
extern const struct sn_command sn_cmd_check;
extern const struct sn_command sn_cmd_trace;
extern const struct sn_command sn_cmd_record;
extern const struct sn_command sn_cmd_top;
extern const struct sn_command sn_cmd_counters;
extern const struct sn_command sn_cmd_events;
extern const struct sn_command sn_cmd_logs;
extern const struct sn_command sn_cmd_export;
extern const struct sn_command sn_cmd_config;
extern const struct sn_command sn_cmd_report;
extern const struct sn_command sn_cmd_convert;
extern const struct sn_command sn_cmd_diff;
extern const struct sn_command sn_cmd_stacks;
extern const struct sn_command sn_cmd_dump;
extern const struct sn_command sn_cmd_env;
extern const struct sn_command sn_cmd_serve;
extern const struct sn_command sn_cmd_key;
extern const struct sn_command sn_cmd_completion;

const struct sn_command *const sn_commands[] = {
    &sn_cmd_ps,       &sn_cmd_check,  &sn_cmd_trace,   &sn_cmd_record,     &sn_cmd_top,
    &sn_cmd_counters, &sn_cmd_events, &sn_cmd_logs,    &sn_cmd_export,     &sn_cmd_config,
    &sn_cmd_serve,    &sn_cmd_report, &sn_cmd_convert, &sn_cmd_diff,       &sn_cmd_stacks,
    &sn_cmd_dump,     &sn_cmd_env,    &sn_cmd_key,     &sn_cmd_completion, NULL,
};

const struct sn_command *sn_command_find(const char *name)
{
    for (const struct sn_command *const *command = sn_commands; *command; command++) {
        if (strcmp((*command)->name, name) == 0)
            return *command;
    }
    return NULL;
}

void sn_command_help(const struct sn_command *command, FILE *to)
{
    (void)fprintf(to, "usage: sonde %s %s\n\n%s\n\n", command->name, command->usage,
                  command->summary);
    sn_options_print(command->options, to);
    (void)fprintf(to, "\nexamples:\n%s", command->examples);
}

int sn_command_exit_code(int status)
{
    switch (status) {
    case SONDE_OK:
    case SONDE_END: return SN_EXIT_DONE;
    case SONDE_E_ARGUMENT: return SN_EXIT_USAGE;
    case SONDE_E_TRUNCATED:
    case SONDE_E_GONE: return SN_EXIT_PARTIAL;
    case SONDE_E_NOT_FOUND:
    case SONDE_E_DENIED: return SN_EXIT_NO_TARGET;
    default: return SN_EXIT_FAILED;
    }
}

int sn_command_fail(const struct sonde_error *err)
{
    (void)fputs("sonde: ", stderr);
    sn_terminal_put(stderr, SN_STYLE_NONE,
                    err->text[0] ? err->text : sonde_status_name(err->status));
    (void)fputc('\n', stderr);
    return sn_command_exit_code(err->status);
}

int sn_command_target(uint64_t pid, const char *name, uint32_t *ret_pid, struct sonde_error *err)
{
    if (pid && name)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "give a pid or a name, not both");
    if (name)
        return sonde_process_find(name, ret_pid, err);
    if (!pid || pid > INT32_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "which process? give -p PID or -n NAME; 'sonde ps' lists them");
    *ret_pid = (uint32_t)pid;
    return SONDE_OK;
}
