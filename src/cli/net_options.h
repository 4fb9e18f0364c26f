/* Command lines as the .NET tools read them: System.CommandLine's rules, its way of saying what is
 * wrong, and its shape of help. Commands are data, as sonde's own verbs are. */
#ifndef SN_CLI_NET_OPTIONS_H
#define SN_CLI_NET_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a .NET tool ends with when its command line cannot be read. */
#define SN_NET_EXIT_USAGE 1

enum sn_net_kind {
    SN_NET_TEXT,   /* const char *; NULL when not given */
    SN_NET_INT,    /* int32_t */
    SN_NET_UINT,   /* uint32_t */
    SN_NET_SWITCH, /* int: enum sn_net_switch; "--rundown", "--rundown false" */
    SN_NET_SPAN,   /* uint64_t nanoseconds: a .NET TimeSpan, "dd:hh:mm:ss" */
    SN_NET_CHOICE, /* int: the number of one of `choices`, by name or number */
    SN_NET_LIST,   /* struct sn_net_list: may be given several times */
    SN_NET_WORDS,  /* the same, each time with any number of words: "-d one two" */
};

#define SN_NET_LIST_MAX 16u

struct sn_net_list {
    const char *items[SN_NET_LIST_MAX];
    size_t count;
};

enum sn_net_switch { SN_NET_UNSET, SN_NET_ON, SN_NET_OFF };

struct sn_net_choice {
    const char *name;
    int number;
};

struct sn_net_option {
    const char *name;  /* "--process-id" */
    const char *alias; /* "-p", "--dport"; NULL for none */
    enum sn_net_kind kind;
    size_t offset;                       /* of its place in the command's arguments struct */
    const struct sn_net_choice *choices; /* SN_NET_CHOICE: ended by one without a name */
    bool is_required;
    const char *help;
};

#define SN_NET_OPTIONS_END                            \
    {                                                 \
        NULL, NULL, SN_NET_TEXT, 0, NULL, false, NULL \
    }

/* What was read of a command line. */
struct sn_net_line {
    const struct sn_net_command *command;
    const char *operand; /* NULL when not given */
    char **child;        /* what stands behind "--", ended by NULL; NULL when nothing does */
    bool wants_help;
    bool wants_version;
    void *arguments; /* the command's struct */
};

struct sn_net_command {
    const char *name;
    const char *path;    /* as usage shows it: "report <trace_filename> topN" */
    const char *summary; /* one line */
    const char *operand; /* "input-filename"; NULL when it takes none */
    const char *operand_help;
    bool needs_operand;
    bool operand_is_before; /* it stands before the command, and is the parent's */
    bool operand_exists;    /* it must be a file */
    bool takes_command; /* words it does not know are no error; a command may stand behind "--" */
    const struct sn_net_option *options; /* NULL for none */
    size_t arguments_size;
    const void *defaults;                         /* what the arguments begin as; NULL: zeroes */
    const struct sn_net_command *const *children; /* ended by NULL; NULL for none */
    int (*run)(const struct sn_net_line *line);   /* NULL: one of the children must be named */
};

/* Reads argv[1..argc) and runs what it asks for. Returns the exit code. */
int sn_net_main(const struct sn_net_command *root, const char *tool, const char *version, int argc,
                char **argv);

/* A .NET TimeSpan: "5" (days), "hh:mm", "[d.]hh:mm:ss[.fff]", "d:hh:mm:ss". */
bool sn_net_parse_span(const char *text, uint64_t *ret_ns);

#endif
