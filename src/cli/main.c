/* sonde: finds the verb, parses its options, runs it. No verb: the processes, and what to type
 * next. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "cli/alias.h"
#include "cli/commands.h"
#if SONDE_HAS_DWARF
#include "dwarf/dwarf_lines.h"
#endif

static void print_overview(FILE *to)
{
    (void)fputs("usage: sonde VERB [options]\n\n"
                "Profiles and monitors .NET 8, 9 and 10 on Linux; needs no .NET itself.\n\n",
                to);
    for (const struct sn_command *const *command = sn_commands; *command; command++)
        (void)fprintf(to, "  %-12s %s\n", (*command)->name, (*command)->summary);
    (void)fputs("\n'sonde VERB --help' says more; 'sonde' alone lists the processes.\n", to);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

/* A verb that talks to nobody but its reader ends when the reader has seen enough ("| head"). */
static void let_pipes_end_it(const struct sn_command *command)
{
    if (command->is_offline)
        (void)signal(SIGPIPE, SIG_DFL);
}

/* The verb that was meant by one that begins like it, or goes on behind it; NULL: none. */
static const char *find_meant(const char *verb)
{
    size_t size = strlen(verb);
    for (const struct sn_command *const *command = sn_commands; size >= 2 && *command; command++) {
        const char *name = (*command)->name;
        size_t length = strlen(name);
        if (strncmp(name, verb, size < length ? size : length) == 0)
            return name;
    }
    return NULL;
}

static bool takes_name(const struct sn_command *command)
{
    for (const struct sn_option *option = command->options; option->name; option++) {
        if (strcmp(option->name, "name") == 0)
            return true;
    }
    return false;
}

static int refuse_operand(const struct sn_command *command, const char *word,
                          struct sonde_error *err)
{
    if (takes_name(command) && word[0] != '-')
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "what is '%.64s'? A process is given as -n NAME or -p PID", word);
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "what is '%.64s'?", word);
}

static int run_command(const struct sn_command *command, int argc, char **argv)
{
    let_pipes_end_it(command);
    if (asks_for_help(argc, argv)) {
        sn_command_help(command, stdout);
        return SN_EXIT_DONE;
    }
    SN_AUTO(sn_free) void *arguments = calloc(1, command->arguments_size);
    struct sn_operands operands;
    struct sonde_error err = {0};
    if (!arguments)
        return SN_EXIT_FAILED;
    int rc = sn_options_parse(command->options, argc, argv, arguments, &operands, &err);
    if (rc == SONDE_OK && operands.count > command->operand_max)
        rc = refuse_operand(command, operands.words[command->operand_max], &err);
    if (rc != SONDE_OK) {
        (void)sn_command_fail(&err);
        (void)fprintf(stderr, "usage: sonde %s %s\n", command->name, command->usage);
        return SN_EXIT_USAGE;
    }
    int code = command->run(arguments, &operands);
    bool is_lost = fflush(stdout) != 0 && code == SN_EXIT_DONE;
    if (is_lost || (ferror(stdout) && code == SN_EXIT_FAILED)) {
        (void)fputs("sonde: cannot write to standard output\n", stderr);
        return SN_EXIT_FAILED;
    }
    return code;
}

static int run_default(void)
{
    char *none = NULL;
    int code = run_command(sn_command_find("ps"), 0, &none);
    (void)fputs("\nTry: sonde top    sonde counters    sonde events -p PID    sonde logs -p PID    "
                "sonde record -d 30s\n"
                "     sonde trace -p PID --duration 30s    sonde check -p PID    sonde --help\n",
                stderr);
    return code;
}

static int refuse_verb(const char *verb)
{
    const char *meant = find_meant(verb);
    (void)fprintf(stderr, "sonde: there is no verb '%s'", verb);
    if (meant)
        (void)fprintf(stderr, "; did you mean '%s'?", meant);
    (void)fputs("\n\n", stderr);
    print_overview(stderr);
    return SN_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN); /* a peer that goes away is an error to handle, not to die of */
#if SONDE_HAS_DWARF
    sonde_set_native_lines(sn_dwarf_lines);
#endif
    sn_alias_fn *alias = sn_alias_find(argc > 0 ? argv[0] : NULL);
    if (!alias)
        alias = sn_alias_serve(argc, argv, &argc);
    if (alias)
        return alias(argc, argv);
    if (argc < 2)
        return run_default();
    const char *verb = argv[1];
    bool wants_help = false;
    if (strcmp(verb, "--version") == 0 || strcmp(verb, "version") == 0) {
        (void)puts("sonde " SONDE_VERSION);
        return SN_EXIT_DONE;
    }
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || strcmp(verb, "help") == 0) {
        if (argc < 3) {
            print_overview(stdout);
            return SN_EXIT_DONE;
        }
        wants_help = true;
        verb = argv[2];
    }
    const struct sn_command *command = sn_command_find(verb);
    if (!command)
        return refuse_verb(verb);
    if (wants_help) {
        sn_command_help(command, stdout);
        return SN_EXIT_DONE;
    }
    return run_command(command, argc - 2, argv + 2);
}
