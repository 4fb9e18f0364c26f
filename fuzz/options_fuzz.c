/* Any command line: a status with a reason, values that agree with a second reading, operands kept.
 *
 * Input: words, each ended by a zero or a newline. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/options.h"

#define WORD_MAX 128

struct arguments {
    bool flag;
    bool other;
    const char *text;
    struct sn_option_list list;
    uint64_t number;
    uint64_t bytes;
    uint64_t duration_ns;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sn_option options[] = {
    {'f', "flag", SN_OPTION_FLAG, AT(flag), NULL, "a flag"},
    {0, "other", SN_OPTION_FLAG, AT(other), NULL, "a flag without a letter"},
    {'t', "text", SN_OPTION_TEXT, AT(text), "TEXT", "a text"},
    {'l', "list", SN_OPTION_LIST, AT(list), "ITEM", "a list"},
    {'n', "number", SN_OPTION_NUMBER, AT(number), "COUNT", "a number"},
    {'b', "bytes", SN_OPTION_BYTES, AT(bytes), "SIZE", "a size"},
    {'d', "duration", SN_OPTION_DURATION, AT(duration_ns), "TIME", "a duration"},
    SN_OPTIONS_END,
};

static int split(char *text, size_t size, char **words)
{
    int count = 0;
    char *start = text;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\n' && text[i] != '\0')
            continue;
        text[i] = '\0';
        if (count < WORD_MAX)
            words[count++] = start;
        start = text + i + 1;
    }
    return count;
}

static bool is_one_of(const char *word, char **words, int count)
{
    for (int i = 0; i < count; i++) {
        if (words[i] == word)
            return true;
    }
    return false;
}

static void check_values(const char *word)
{
    uint64_t value = 4711;
    if (sn_quantity_duration(word, &value) && (!*word || value > UINT64_MAX / 2))
        abort();
    value = 4711;
    if (!sn_quantity_bytes(word, &value) && value != 4711)
        abort();
    if (value > INT64_MAX)
        abort();
    /* A plain number of seconds or bytes means itself. */
    uint64_t plain;
    if (strspn(word, "0123456789") == strlen(word) && sn_text_to_u64(word, 1000000000, &plain) &&
        strlen(word) < 12) {
        if (!sn_quantity_duration(word, &value) || value != plain * 1000000000u)
            abort();
        if (!sn_quantity_bytes(word, &value) || value != plain)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\n';
    char *given[WORD_MAX + 1] = {0};
    int count = split(text, size + 1, given);
    for (int i = 0; i < count; i++)
        check_values(given[i]);

    char *words[WORD_MAX + 1];
    memcpy(words, given, sizeof(words));
    struct arguments arguments = {0};
    struct sn_operands operands = {0};
    struct sonde_error err = {0};
    int rc = sn_options_parse(options, count, words, &arguments, &operands, &err);
    if (rc == SONDE_OK) {
        if (operands.count < 0 || operands.count > count ||
            arguments.list.count > SN_OPTION_LIST_MAX)
            abort();
        for (int i = 0; i < operands.count; i++) {
            if (!is_one_of(operands.words[i], given, count))
                abort();
        }
        for (char **word = operands.command; word && *word; word++) {
            if (!is_one_of(*word, given, count))
                abort();
        }
    } else if (rc != SONDE_E_ARGUMENT || err.status != rc || !err.text[0]) {
        abort(); /* a refusal without a reason */
    }
    free(text);
    return 0;
}
