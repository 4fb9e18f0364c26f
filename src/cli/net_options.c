#include "cli/net_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"

#define GIVEN_MAX    64u
#define ERRORS_LIMIT 65536u

/* One option as it stands on the command line. */
struct given {
    const struct sn_net_option *option;
    const char *spelled; /* as it was typed, for complaints */
    const char *value;   /* NULL: none, for a switch */
};

struct reader {
    const struct sn_net_command *root;
    struct sn_net_line line;
    struct given given[GIVEN_MAX];
    size_t given_count;
    struct sn_buf missing; /* one line each; shown before the errors */
    struct sn_buf errors;
};

/* --- values --- */

static bool take_digits(const char **text, uint64_t *ret_number)
{
    size_t size = strspn(*text, "0123456789");
    char digits[10] = "";
    if (!size || size >= sizeof(digits))
        return false;
    memcpy(digits, *text, size);
    *text += size;
    *ret_number = strtoull(digits, NULL, 10);
    return true;
}

/* Seven digits at most: ticks of 100 ns. */
static bool take_fraction_ns(const char **text, uint64_t *ret_ns)
{
    uint64_t weight = SN_NS_PER_SECOND / 10;
    *ret_ns = 0;
    if (**text != '.')
        return true;
    size_t size = strspn(*text + 1, "0123456789");
    if (!size || size > 7)
        return false;
    for (++*text; size; --size, ++*text, weight /= 10)
        *ret_ns += weight * (uint64_t)(**text - '0');
    return true;
}

/* Days, hours, minutes, seconds within what each may be. */
static bool add_up(const uint64_t parts[4], uint64_t fraction_ns, uint64_t *ret_ns)
{
    if (parts[0] > 10675199u || parts[1] > 23 || parts[2] > 59 || parts[3] > 59)
        return false;
    uint64_t seconds = ((parts[0] * 24 + parts[1]) * 60 + parts[2]) * 60 + parts[3];
    if (seconds > UINT64_MAX / SN_NS_PER_SECOND / 2)
        seconds = UINT64_MAX / SN_NS_PER_SECOND / 2;
    *ret_ns = seconds * SN_NS_PER_SECOND + fraction_ns;
    return true;
}

bool sn_net_parse_span(const char *text, uint64_t *ret_ns)
{
    uint64_t numbers[4] = {0};
    uint64_t fraction = 0;
    size_t count = 0;
    size_t colons = 0;
    bool has_days = false;
    if (!take_digits(&text, &numbers[count++]))
        return false;
    if (*text == '.' && strchr(text, ':')) {
        has_days = true;
        text++;
        if (!take_digits(&text, &numbers[count++]))
            return false;
    }
    for (; *text == ':' && count < 4; colons++) {
        text++;
        if (!take_digits(&text, &numbers[count++]))
            return false;
    }
    if ((colons >= 2 && !take_fraction_ns(&text, &fraction)) || *text || (has_days && !colons))
        return false;
    if (has_days || count == 4) /* d.hh:mm[:ss], d:hh:mm:ss */
        return add_up(numbers, fraction, ret_ns);
    if (count == 1)
        return add_up((uint64_t[4]){numbers[0]}, 0, ret_ns);
    /* hh:mm[:ss]; where hours cannot be hours, .NET takes days:hours:minutes */
    if (count == 3 && numbers[0] > 23)
        return add_up(numbers, 0, ret_ns);
    return add_up((uint64_t[4]){0, numbers[0], numbers[1], numbers[2]}, fraction, ret_ns);
}

static bool parse_switch(const char *text, int *ret_switch)
{
    if (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0)
        return false;
    *ret_switch = strcasecmp(text, "true") == 0 ? SN_NET_ON : SN_NET_OFF;
    return true;
}

static bool parse_integer(const char *text, int64_t least, int64_t most, int64_t *ret_number)
{
    uint64_t number;
    bool is_negative = *text == '-';
    if (text[is_negative] == '0' && (text[is_negative + 1] | 0x20) == 'x')
        return false;
    if (!sn_text_to_u64(text + is_negative, INT32_MAX * 4ull, &number))
        return false;
    *ret_number = is_negative ? -(int64_t)number : (int64_t)number;
    return *ret_number >= least && *ret_number <= most;
}

static bool parse_choice(const struct sn_net_choice *choices, const char *text, int *ret_number)
{
    int64_t number;
    if (parse_integer(text, INT32_MIN, INT32_MAX, &number)) {
        *ret_number = (int)number; /* .NET lets any number pass for an enum's */
        return true;
    }
    for (; choices->name; choices++) {
        if (strcasecmp(choices->name, text) == 0) {
            *ret_number = choices->number;
            return true;
        }
    }
    return false;
}

static bool add(struct sn_net_list *list, const char *text)
{
    if (list->count == SN_NET_LIST_MAX)
        return false;
    list->items[list->count++] = text;
    return true;
}

static bool store(const struct given *given, void *arguments)
{
    void *place = (char *)arguments + given->option->offset;
    int64_t number = 0;
    bool is_good = true;
    switch (given->option->kind) {
    case SN_NET_TEXT: *(const char **)place = given->value; break;
    case SN_NET_INT:
        is_good = parse_integer(given->value, INT32_MIN, INT32_MAX, &number);
        *(int32_t *)place = (int32_t)number;
        break;
    case SN_NET_UINT:
        is_good = parse_integer(given->value, 0, UINT32_MAX, &number);
        *(uint32_t *)place = (uint32_t)number;
        break;
    case SN_NET_SWITCH:
        *(int *)place = SN_NET_ON;
        if (given->value)
            is_good = parse_switch(given->value, place);
        break;
    case SN_NET_SPAN: is_good = sn_net_parse_span(given->value, place); break;
    case SN_NET_CHOICE: is_good = parse_choice(given->option->choices, given->value, place); break;
    case SN_NET_LIST:
    case SN_NET_WORDS: is_good = add(place, given->value); break;
    }
    return is_good;
}

static const char *type_of(enum sn_net_kind kind)
{
    static const char *const names[] = {
        [SN_NET_TEXT] = "text",
        [SN_NET_INT] = "a whole number",
        [SN_NET_UINT] = "a whole number, not negative",
        [SN_NET_SWITCH] = "true or false",
        [SN_NET_SPAN] = "a time span, dd:hh:mm:ss",
        [SN_NET_CHOICE] = "one of:",
        [SN_NET_LIST] = "one of at most sixteen",
        [SN_NET_WORDS] = "one of at most sixteen",
    };
    return names[kind];
}

/* --- words --- */

static const struct sn_net_option *find_option(const struct sn_net_command *command,
                                               const char *word, size_t size)
{
    const struct sn_net_option *option = command->options;
    for (; option && option->name; option++) {
        if ((strlen(option->name) == size && strncmp(option->name, word, size) == 0) ||
            (option->alias && strlen(option->alias) == size &&
             strncmp(option->alias, word, size) == 0))
            return option;
    }
    return NULL;
}

static const struct sn_net_command *find_child(const struct sn_net_command *command,
                                               const char *word)
{
    for (size_t i = 0; command->children && command->children[i]; i++) {
        if (strcmp(command->children[i]->name, word) == 0)
            return command->children[i];
    }
    return NULL;
}

static void give(struct reader *reader, const struct sn_net_option *option, const char *spelled,
                 const char *value)
{
    if (reader->given_count < GIVEN_MAX)
        reader->given[reader->given_count++] = (struct given){option, spelled, value};
    else
        sn_buf_text(&reader->errors, "There are too many options.\n");
}

/* The option's value in the next word, if it needs or can use that. */
static void give_with_next(struct reader *reader, const struct sn_net_option *option,
                           const char *spelled, char **argv, int argc, int *at)
{
    int ignored;
    bool has_next = *at + 1 < argc && strcmp(argv[*at + 1], "--") != 0;
    if (option->kind == SN_NET_SWITCH) {
        bool is_value = has_next && parse_switch(argv[*at + 1], &ignored);
        give(reader, option, spelled, is_value ? argv[++*at] : NULL);
    } else if (option->kind == SN_NET_WORDS) {
        while (*at + 1 < argc && argv[*at + 1][0] != '-')
            give(reader, option, spelled, argv[++*at]);
    } else if (has_next)
        give(reader, option, spelled, argv[++*at]);
    else
        sn_buf_format(&reader->errors, "Required argument missing for option: '%s'.\n", spelled);
}

/* "-n5", "-vn5", "-n=5": letters in one word, the last with a value. False when it is none. */
static bool read_letters(struct reader *reader, char **argv, int argc, int *at)
{
    const char *word = argv[*at];
    char name[3] = "-";
    if (word[0] != '-' || word[1] == '-' || !word[1])
        return false;
    name[1] = word[1];
    if (!find_option(reader->line.command, name, 2))
        return false;
    for (const char *letter = word + 1; *letter; letter++) {
        name[1] = *letter;
        const struct sn_net_option *option = find_option(reader->line.command, name, 2);
        if (!option)
            return false;
        if (option->kind == SN_NET_SWITCH && letter[1] != '=' && letter[1] != ':') {
            give(reader, option, option->alias, NULL);
            continue;
        }
        const char *value = letter + 1 + (letter[1] == '=' || letter[1] == ':');
        if (letter[1])
            give(reader, option, option->alias, value);
        else
            give_with_next(reader, option, option->alias, argv, argc, at);
        break;
    }
    return true;
}

static bool read_option(struct reader *reader, char **argv, int argc, int *at)
{
    const char *word = argv[*at];
    const struct sn_net_option *option = find_option(reader->line.command, word, strlen(word));
    if (option) {
        give_with_next(reader, option, word, argv, argc, at);
        return true;
    }
    size_t size = strcspn(word, "=:");
    option = word[size] ? find_option(reader->line.command, word, size) : NULL;
    if (option) {
        give(reader, option, option->name, word + size + 1);
        return true;
    }
    return read_letters(reader, argv, argc, at);
}

static bool takes_operand(const struct sn_net_line *line)
{
    return line->command->operand && !line->command->operand_is_before && !line->operand;
}

static void read_word(struct reader *reader, char **argv, int argc, int *at)
{
    struct sn_net_line *line = &reader->line;
    const char *word = argv[*at];
    const struct sn_net_command *child = find_child(line->command, word);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0)
        line->wants_help = true;
    else if (strcmp(word, "--version") == 0 && line->command == reader->root)
        line->wants_version = true;
    else if (child)
        line->command = child;
    else if (read_option(reader, argv, argc, at))
        return;
    else if (takes_operand(line) && word[0] != '-')
        line->operand = word;
    else if (!line->command->takes_command)
        sn_buf_format(&reader->errors, "Unrecognized command or argument '%s'.\n", word);
}

static void read_words(struct reader *reader, int argc, char **argv)
{
    for (int at = 1; at < argc; at++) {
        if (strcmp(argv[at], "--") != 0) {
            read_word(reader, argv, argc, &at);
            continue;
        }
        if (reader->line.command->takes_command && at + 1 < argc)
            reader->line.child = argv + at + 1;
        return;
    }
}

/* --- the whole --- */

static void check_given(struct reader *reader)
{
    for (size_t i = 0; i < reader->given_count; i++) {
        const struct given *given = &reader->given[i];
        size_t times = 0;
        for (size_t k = 0; k < reader->given_count; k++)
            times += reader->given[k].option == given->option;
        if (times > 1 && given->option->kind != SN_NET_LIST &&
            given->option->kind != SN_NET_WORDS) {
            sn_buf_format(&reader->errors,
                          "Option '%s' expects a single argument but %zu were provided.\n",
                          given->spelled, times);
            return;
        }
        if (store(given, reader->line.arguments))
            continue;
        sn_buf_format(&reader->errors, "Cannot parse argument '%s' for option '%s': it is not %s",
                      given->value, given->option->name, type_of(given->option->kind));
        for (size_t k = 0; given->option->choices && given->option->choices[k].name; k++)
            sn_buf_format(&reader->errors, " %s", given->option->choices[k].name);
        sn_buf_text(&reader->errors, ".\n");
    }
}

static bool is_given(const struct reader *reader, const struct sn_net_option *option)
{
    for (size_t i = 0; i < reader->given_count; i++) {
        if (reader->given[i].option == option)
            return true;
    }
    return false;
}

static void check_missing(struct reader *reader)
{
    const struct sn_net_line *line = &reader->line;
    const struct sn_net_command *command = line->command;
    const struct sn_net_option *option = command->options;
    if (!command->run)
        sn_buf_text(&reader->missing, "Required command was not provided.\n");
    for (; option && option->name; option++) {
        if (option->is_required && !is_given(reader, option))
            sn_buf_format(&reader->missing, "Option '%s' is required.\n", option->name);
    }
    if (command->needs_operand && !line->operand)
        sn_buf_format(&reader->missing, "Required argument missing for command: '%s'.\n",
                      command->name);
    if (command->operand_exists && line->operand && access(line->operand, F_OK) != 0)
        sn_buf_format(&reader->missing, "File does not exist: '%s'.\n", line->operand);
}

/* --- help --- */

static int left_column(const struct sn_net_option *option, char *to, size_t size)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(256);
    bool is_short = option->alias && option->alias[1] != '-';
    if (is_short)
        sn_buf_format(&text, "%s, ", option->alias);
    sn_buf_text(&text, option->name);
    if (option->alias && !is_short)
        sn_buf_format(&text, ", %s", option->alias);
    for (size_t i = 0; option->choices && option->choices[i].name; i++)
        sn_buf_format(&text, "%s%s", i ? "|" : " <", option->choices[i].name);
    if (option->choices)
        sn_buf_text(&text, ">");
    if (option->is_required)
        sn_buf_text(&text, " (REQUIRED)");
    return snprintf(to, size, "%s", sn_buf_string(&text));
}

static void print_options(const struct sn_net_command *command, bool is_root)
{
    char left[128];
    int width = 14;
    const struct sn_net_option *option = command->options;
    for (; option && option->name; option++) {
        int size = left_column(option, left, sizeof(left));
        width = size > width ? size : width;
    }
    (void)printf("Options:\n");
    for (option = command->options; option && option->name; option++) {
        (void)left_column(option, left, sizeof(left));
        (void)printf("  %-*s  %s\n", width, left, option->help);
    }
    (void)printf("  %-*s  Show help and usage information\n", width, "-?, -h, --help");
    if (is_root)
        (void)printf("  %-*s  Show version information\n", width, "--version");
    (void)printf("\n");
}

static void print_help(const struct sn_net_command *command, const char *tool, bool is_root)
{
    (void)printf("Description:\n  %s\n\nUsage:\n  %s %s%s[options]%s\n\n", command->summary, tool,
                 command->path, command->children ? "[command] " : "",
                 command->takes_command ? " [[--] <additional arguments>...]]" : "");
    if (command->operand)
        (void)printf("Arguments:\n  <%s>  %s\n\n", command->operand, command->operand_help);
    print_options(command, is_root);
    if (!command->children)
        return;
    (void)printf("Commands:\n");
    for (size_t i = 0; command->children[i]; i++)
        (void)printf("  %-14s  %s\n", command->children[i]->name, command->children[i]->summary);
    (void)printf("\n");
}

static int run_line(struct reader *reader, const char *tool)
{
    const struct sn_net_command *command = reader->line.command;
    bool is_root = command == reader->root;
    SN_AUTO(sn_free) void *arguments = calloc(1, command->arguments_size + 1);
    if (!arguments)
        return SN_NET_EXIT_USAGE;
    if (command->defaults)
        memcpy(arguments, command->defaults, command->arguments_size);
    reader->line.arguments = arguments;
    if (reader->line.wants_help) {
        print_help(command, tool, is_root);
        return 0;
    }
    check_missing(reader);
    check_given(reader);
    if (reader->missing.size || reader->errors.size) {
        (void)fprintf(stderr, "%s%s\n", sn_buf_string(&reader->missing),
                      sn_buf_string(&reader->errors));
        print_help(command, tool, is_root);
        return SN_NET_EXIT_USAGE;
    }
    return command->run(&reader->line);
}

int sn_net_main(const struct sn_net_command *root, const char *tool, const char *version, int argc,
                char **argv)
{
    struct reader reader = {.root = root,
                            .line.command = root,
                            .missing = sn_buf_with_limit(ERRORS_LIMIT),
                            .errors = sn_buf_with_limit(ERRORS_LIMIT)};
    read_words(&reader, argc, argv);
    int code = 0;
    if (reader.line.wants_version)
        (void)puts(version);
    else
        code = run_line(&reader, tool);
    sn_buf_done(&reader.missing);
    sn_buf_done(&reader.errors);
    if (fflush(stdout) != 0 && code == 0)
        code = SN_NET_EXIT_USAGE;
    return code;
}
