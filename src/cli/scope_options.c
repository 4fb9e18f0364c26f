#include "cli/scope_options.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/pattern.h"
#include "base/text.h"
#include "sonde/process.h"
#include "sonde/record.h"

#define HIGHEST_FREQUENCY 10000u

static const char *const way_names[] = {
    [SONDE_RECORD_BEST] = "best",
    [SONDE_RECORD_MACHINE] = "machine",
    [SONDE_RECORD_THREADS] = "threads",
    [SONDE_RECORD_RUNTIME] = "runtime",
};

int sn_word_list_split(struct sn_word_list *words, const struct sn_option_list *given,
                       struct sonde_error *err)
{
    for (size_t i = 0; i < given->count; i++) {
        char *rest = words->texts[i] = strdup(given->items[i]);
        if (!rest)
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a list");
        for (char *word; (word = strsep(&rest, ","));) {
            if (!*word)
                continue;
            if (words->count == SN_LIST_MAX)
                return sn_fail(err, SONDE_E_ARGUMENT, 0, "a list of more than %u", SN_LIST_MAX);
            words->items[words->count++] = word;
        }
    }
    return SONDE_OK;
}

void sn_word_list_done(struct sn_word_list *words)
{
    for (size_t i = 0; i < SN_OPTION_LIST_MAX; i++)
        free(words->texts[i]);
}

int sn_pid_list_read(struct sn_pid_list *pids, const struct sn_option_list *given,
                     struct sonde_error *err)
{
    SN_AUTO(sn_word_list_done) struct sn_word_list words = {.count = 0};
    int rc = sn_word_list_split(&words, given, err);
    for (size_t i = 0; rc == SONDE_OK && i < words.count; i++) {
        uint64_t pid = 0;
        if (!sn_text_to_u64(words.items[i], INT32_MAX, &pid) || !pid)
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%.32s' is not a pid", words.items[i]);
        if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            return sn_fail(err, SONDE_E_NOT_FOUND, 0, "there is no process %s", words.items[i]);
        pids->items[pids->count++] = (uint32_t)pid;
    }
    return rc;
}

static bool is_named(const struct sn_option_list *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (sn_pattern_matches(names->items[i], name))
            return true;
    }
    return false;
}

int sn_pid_list_add_names(struct sn_pid_list *pids, const struct sn_option_list *names,
                          struct sonde_error *err)
{
    struct sonde_process_list *list = NULL;
    int rc = names->count ? sonde_process_list_new(&list, err) : SONDE_OK;
    for (size_t i = 0; list && i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (pids->count < SN_LIST_MAX && is_named(names, process->name))
            pids->items[pids->count++] = process->pid;
    }
    sonde_process_list_free(list);
    return rc;
}

int sn_way_read(const char *text, int *ret_way, struct sonde_error *err)
{
    int way = text ? SONDE_RECORD_MACHINE : SONDE_RECORD_BEST;
    while (text && way <= SONDE_RECORD_RUNTIME && strcmp(way_names[way], text) != 0)
        way++;
    if (way > SONDE_RECORD_RUNTIME)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--way: '%.32s' is not machine, threads or runtime", text);
    *ret_way = way;
    return SONDE_OK;
}

const char *sn_way_name(int way)
{
    return way >= 0 && way <= SONDE_RECORD_RUNTIME ? way_names[way] : "";
}

int sn_frequency_read(const char *given, uint32_t *ret_frequency, struct sonde_error *err)
{
    uint64_t frequency = 0;
    if (given && (!sn_text_to_u64(given, HIGHEST_FREQUENCY, &frequency) || !frequency))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--frequency: '%.64s' is not a number from 1 to %u", given,
                       HIGHEST_FREQUENCY);
    *ret_frequency = (uint32_t)frequency;
    return SONDE_OK;
}
