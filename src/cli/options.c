#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/quantity.h"
#include "base/text.h"

/* Where help texts begin; an option that reaches past it has its text on the next line. */
#define HELP_COLUMN 34u

/* --- values --- */

static int store(const struct sn_option *option, const char *value, void *arguments,
                 struct sonde_error *err)
{
    void *place = (char *)arguments + option->offset;
    bool is_good = true;
    switch (option->kind) {
    case SN_OPTION_FLAG: *(bool *)place = true; break;
    case SN_OPTION_TEXT: *(const char **)place = value; break;
    case SN_OPTION_NUMBER: is_good = sn_text_to_u64(value, UINT64_MAX, place); break;
    case SN_OPTION_BYTES: is_good = sn_quantity_bytes(value, place); break;
    case SN_OPTION_DURATION: is_good = sn_quantity_duration(value, place); break;
    case SN_OPTION_LIST: {
        struct sn_option_list *list = place;
        is_good = list->count < SN_OPTION_LIST_MAX;
        if (is_good)
            list->items[list->count++] = value;
        break;
    }
    }
    if (!is_good)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--%s: '%.64s' is not %s", option->name, value,
                       option->kind == SN_OPTION_DURATION
                           ? "a duration such as 30s, 5m or 00:00:01:00"
                       : option->kind == SN_OPTION_BYTES ? "a size such as 100MB"
                       : option->kind == SN_OPTION_LIST  ? "possible: it was given too often"
                                                         : "a number");
    return SONDE_OK;
}

/* --- words --- */

static const struct sn_option *find_by_name(const struct sn_option *options, const char *name,
                                            size_t size)
{
    for (; options->name; options++) {
        if (strlen(options->name) == size && strncmp(options->name, name, size) == 0)
            return options;
    }
    return NULL;
}

static const struct sn_option *find_by_letter(const struct sn_option *options, char letter)
{
    for (; options->name; options++) {
        if (options->letter == letter)
            return options;
    }
    return NULL;
}

/* Finds the option that `word` names, and its value when it stands in the same word ("--a=b",
 * "-p12"). */
static const struct sn_option *match(const struct sn_option *options, const char *word,
                                     const char **ret_value)
{
    *ret_value = NULL;
    if (word[1] != '-') {
        const struct sn_option *option = find_by_letter(options, word[1]);
        if (option && word[2])
            *ret_value = option->kind == SN_OPTION_FLAG ? "" : word + 2 + (word[2] == '=');
        return option;
    }
    size_t size = strcspn(word + 2, "=");
    if (word[2 + size] == '=')
        *ret_value = word + 2 + size + 1;
    return find_by_name(options, word + 2, size);
}

static int parse_one(const struct sn_option *options, int argc, char **argv, int *at,
                     void *arguments, struct sonde_error *err)
{
    const char *word = argv[*at];
    const char *value;
    const struct sn_option *option = match(options, word, &value);
    if (!option && strncmp(word, "--host", 6) == 0 && (!word[6] || word[6] == '='))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--host: this verb works on this machine only, not through a controller");
    if (!option || (option->kind == SN_OPTION_FLAG && value))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "there is no option '%.64s'", word);
    if (option->kind != SN_OPTION_FLAG && !value) {
        if (*at + 1 >= argc)
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "--%s needs %s", option->name,
                           option->argument);
        value = argv[++*at];
    }
    return store(option, value, arguments, err);
}

int sn_options_parse(const struct sn_option *options, int argc, char **argv, void *arguments,
                     struct sn_operands *ret_operands, struct sonde_error *err)
{
    struct sn_operands operands = {.words = argv};
    for (int at = 0; at < argc; at++) {
        if (strcmp(argv[at], "--") == 0) {
            operands.command = argv + at + 1;
            break;
        }
        if (argv[at][0] != '-' || !argv[at][1]) {
            operands.words[operands.count++] = argv[at];
            continue;
        }
        int rc = parse_one(options, argc, argv, &at, arguments, err);
        if (rc != SONDE_OK)
            return rc;
    }
    *ret_operands = operands;
    return SONDE_OK;
}

void sn_options_print(const struct sn_option *options, FILE *to)
{
    for (; options->name; options++) {
        char left[64];
        char letter[5] = "    ";
        if (options->letter)
            (void)snprintf(letter, sizeof(letter), "-%c, ", options->letter);
        (void)snprintf(left, sizeof(left), "  %s--%s%s%s", letter, options->name,
                       options->argument ? " " : "", options->argument ? options->argument : "");
        bool is_wide = strlen(left) > HELP_COLUMN - 2;
        (void)fprintf(to, "%-*s%s%*s%s\n", (int)HELP_COLUMN, left, is_wide ? "\n" : "",
                      is_wide ? (int)HELP_COLUMN : 0, "", options->help);
    }
}
