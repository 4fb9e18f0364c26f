/* sonde completion: a script that completes verbs and options, from the same tables as everything
 * else. */
#include "cli/commands.h"

#include <string.h>

#include "base/err.h"

struct arguments {
    bool unused;
};

static const struct sn_option options[] = {
    SN_OPTIONS_END,
};

static void print_bash(void)
{
    (void)puts(
        "_sonde()\n{\n    local word=${COMP_WORDS[COMP_CWORD]}\n    case ${COMP_WORDS[1]} in");
    for (const struct sn_command *const *command = sn_commands; *command; command++) {
        (void)printf("    %s) COMPREPLY=($(compgen -W \"--help", (*command)->name);
        for (const struct sn_option *option = (*command)->options; option->name; option++)
            (void)printf(" --%s", option->name);
        if ((*command)->words)
            (void)printf(" %s", (*command)->words);
        (void)puts("\" -- \"$word\")) ;;");
    }
    (void)printf(
        "    esac\n    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    for (const struct sn_command *const *command = sn_commands; *command; command++)
        (void)printf("%s ", (*command)->name);
    (void)puts("\" -- \"$word\"))\n    fi\n}\ncomplete -o default -F _sonde sonde");
}

static int run(const void *given, const struct sn_operands *operands)
{
    (void)given;
    if (operands->count != 1 || strcmp(operands->words[0], "bash") != 0) {
        struct sonde_error err = {0};
        (void)sn_fail(&err, SONDE_E_ARGUMENT, 0, "only bash is there: 'sonde completion bash'");
        return sn_command_fail(&err);
    }
    print_bash();
    return SN_EXIT_DONE;
}

const struct sn_command sn_cmd_completion = {
    .name = "completion",
    .usage = "bash",
    .summary = "print a completion script for a shell",
    .examples = "  source <(sonde completion bash)\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .operand_max = 1,
    .words = "bash",
    .run = run,
};
