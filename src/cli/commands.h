/* The verbs: one const entry beside each verb's code, one table of them all. */
#ifndef SN_CLI_COMMANDS_H
#define SN_CLI_COMMANDS_H

#include "cli/options.h"

struct sonde_error;

/* What a process may end with; the same for every verb. */
enum sn_exit {
    SN_EXIT_DONE = 0,
    SN_EXIT_FAILED = 1,
    SN_EXIT_USAGE = 2,
    SN_EXIT_PARTIAL = 3,   /* something came, but not all of it */
    SN_EXIT_NO_TARGET = 4, /* not found or not permitted */
};

struct sn_command {
    const char *name;
    const char *usage; /* what stands behind "sonde NAME" */
    const char *summary;
    const char *examples; /* lines of them */
    const struct sn_option *options;
    size_t arguments_size; /* of the struct that the options fill */
    int operand_max;       /* words that are no options */
    const char *words;     /* those of them that are always the same, for completion; or NULL */
    bool is_offline;       /* works on files only */
    int (*run)(const void *arguments, const struct sn_operands *operands);
};

/* Every verb, ended by NULL. */
extern const struct sn_command *const sn_commands[];

const struct sn_command *sn_command_find(const char *name);
void sn_command_help(const struct sn_command *command, FILE *to);

/* Says what went wrong on standard error and returns the exit code that fits. */
int sn_command_fail(const struct sonde_error *err);

/* The one table from statuses to exit codes. */
int sn_command_exit_code(int status);

/* Resolves -p and -n to a pid; one of them must be there. */
int sn_command_target(uint64_t pid, const char *name, uint32_t *ret_pid, struct sonde_error *err);

#endif
