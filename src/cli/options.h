/* Command-line options as data: a table says what there is; parsing, --help and completion walk it.
 */
#ifndef SN_CLI_OPTIONS_H
#define SN_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sonde_error;

enum sn_option_kind {
    SN_OPTION_FLAG,     /* bool */
    SN_OPTION_TEXT,     /* const char * */
    SN_OPTION_LIST,     /* struct sn_option_list: may be given several times */
    SN_OPTION_NUMBER,   /* uint64_t */
    SN_OPTION_BYTES,    /* uint64_t: "64M", "1GB" */
    SN_OPTION_DURATION, /* uint64_t nanoseconds: "30", "30s", "5m", "1h30m", "dd:hh:mm:ss" */
};

#define SN_OPTION_LIST_MAX 64u

struct sn_option_list {
    const char *items[SN_OPTION_LIST_MAX];
    size_t count;
};

struct sn_option {
    char letter; /* 0: none */
    const char *name;
    enum sn_option_kind kind;
    size_t offset;        /* of its place in the verb's arguments struct */
    const char *argument; /* what help calls the value; NULL for flags */
    const char *help;
};

/* The end of a table. */
#define SN_OPTIONS_END                         \
    {                                          \
        0, NULL, SN_OPTION_FLAG, 0, NULL, NULL \
    }

/* What is left after the options. */
struct sn_operands {
    int count;
    char **words;
    char **command; /* what stands behind "--", ended by NULL; NULL when there is none */
};

/* Fills `arguments` from argv[0..argc) by the table. Errors name the option. Operands keep their
 * order and may stand between options. `argv` is reordered. */
int sn_options_parse(const struct sn_option *options, int argc, char **argv, void *arguments,
                     struct sn_operands *ret_operands, struct sonde_error *err);

void sn_options_print(const struct sn_option *options, FILE *to);

#endif
