#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"

/* Where help texts begin; an option that reaches past it has its text on the next line. */
#define HELP_COLUMN 34u

/* --- values --- */

static bool parse_clock_duration(const char *text, uint64_t *ret_ns)
{
    uint64_t parts[4] = {0};
    size_t count = 0;
    while (*text) {
        size_t size = strcspn(text, ":");
        char number[12] = "";
        bool is_last = text[size] != ':';
        if (count == 4 || size >= sizeof(number) || strspn(text, "0123456789") != size ||
            (!is_last && !text[size + 1]))
            return false;
        memcpy(number, text, size);
        if (!sn_text_to_u64(number, 100000, &parts[count++]))
            return false;
        text += size + !is_last;
    }
    uint64_t seconds = 0;
    static const uint64_t weights[] = {86400, 3600, 60, 1};
    for (size_t i = 0; i < count; i++)
        seconds += parts[i] * weights[4 - count + i];
    *ret_ns = seconds * SN_NS_PER_SECOND;
    return true;
}

static uint64_t unit_ns(const char *unit, size_t size)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ms", SN_NS_PER_MS},
                 {"s", SN_NS_PER_SECOND},
                 {"m", 60ull * SN_NS_PER_SECOND},
                 {"h", 3600ull * SN_NS_PER_SECOND},
                 {"d", 86400ull * SN_NS_PER_SECOND}};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strlen(units[i].name) == size && strncmp(units[i].name, unit, size) == 0)
            return units[i].ns;
    }
    return size ? 0 : SN_NS_PER_SECOND;
}

/* ".25" is 250 thousandths; what is finer does not count. No fraction: 0, and the text stays. */
static uint64_t take_fraction(const char **text)
{
    if (**text != '.' || (*text)[1] < '0' || (*text)[1] > '9')
        return 0;
    uint64_t thousandths = 0;
    uint64_t weight = 100;
    for (++*text; **text >= '0' && **text <= '9'; ++*text, weight /= 10)
        thousandths += weight * (uint64_t)(**text - '0');
    return thousandths;
}

bool sn_option_parse_duration(const char *text, uint64_t *ret_ns)
{
    if (strchr(text, ':'))
        return parse_clock_duration(text, ret_ns);
    uint64_t total = 0;
    if (!*text)
        return false;
    while (*text) {
        size_t digits = strspn(text, "0123456789");
        char number[12] = "";
        uint64_t value = 0;
        if (!digits || digits >= sizeof(number))
            return false;
        memcpy(number, text, digits);
        text += digits;
        uint64_t thousandths = take_fraction(&text);
        size_t letters = strcspn(text, "0123456789");
        uint64_t ns = unit_ns(text, letters);
        if (!ns || !sn_text_to_u64(number, 100000000000ull, &value) || value > UINT64_MAX / ns / 4)
            return false;
        total += value * ns + thousandths * (ns / 1000);
        if (total > UINT64_MAX / 2)
            return false;
        text += letters;
    }
    *ret_ns = total;
    return true;
}

bool sn_option_parse_bytes(const char *text, uint64_t *ret_bytes)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {{"", 1},           {"B", 1},           {"k", 1000},       {"K", 1000},
                 {"kB", 1000},      {"KB", 1000},       {"M", 1000000},    {"MB", 1000000},
                 {"G", 1000000000}, {"GB", 1000000000}, {"KiB", 1u << 10}, {"MiB", 1u << 20},
                 {"GiB", 1u << 30}};
    size_t digits = strspn(text, "0123456789");
    char number[20] = "";
    uint64_t value = 0;
    if (!digits || digits >= sizeof(number))
        return false;
    memcpy(number, text, digits);
    if (!sn_text_to_u64(number, UINT64_MAX, &value))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(units[i].name, text + digits) == 0) {
            if (value > INT64_MAX / units[i].bytes)
                return false;
            *ret_bytes = value * units[i].bytes;
            return true;
        }
    }
    return false;
}

static int store(const struct sn_option *option, const char *value, void *arguments,
                 struct sonde_error *err)
{
    void *place = (char *)arguments + option->offset;
    bool is_good = true;
    switch (option->kind) {
    case SN_OPTION_FLAG: *(bool *)place = true; break;
    case SN_OPTION_TEXT: *(const char **)place = value; break;
    case SN_OPTION_NUMBER: is_good = sn_text_to_u64(value, UINT64_MAX, place); break;
    case SN_OPTION_BYTES: is_good = sn_option_parse_bytes(value, place); break;
    case SN_OPTION_DURATION: is_good = sn_option_parse_duration(value, place); break;
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
