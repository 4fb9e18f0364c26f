/* What record and top read alike from their command lines. */
#ifndef SN_CLI_SCOPE_OPTIONS_H
#define SN_CLI_SCOPE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

struct sonde_error;

#define SN_LIST_MAX 1024u

/* Words of an option that takes a list, "a,b", and may be given several times. */
struct sn_word_list {
    const char *items[SN_LIST_MAX];
    size_t count;
    char *texts[SN_OPTION_LIST_MAX]; /* owns */
};

/* Fills an empty one; empty words are passed over. */
int sn_word_list_split(struct sn_word_list *words, const struct sn_option_list *given,
                       struct sonde_error *err);
void sn_word_list_done(struct sn_word_list *words);

static inline void sn_word_list_done_auto(struct sn_word_list *words)
{
    sn_word_list_done(words);
}

struct sn_pid_list {
    uint32_t items[SN_LIST_MAX];
    size_t count;
};

/* Of processes that there are; SONDE_E_NOT_FOUND. */
int sn_pid_list_read(struct sn_pid_list *pids, const struct sn_option_list *given,
                     struct sonde_error *err);

/* The same and the .NET processes that go by these names, patterns as in base/pattern.h: a program
 * that `dotnet` runs is known to the kernel by that name only. */
int sn_pid_list_add_names(struct sn_pid_list *pids, const struct sn_option_list *names,
                          struct sonde_error *err);

/* "machine", "threads", "runtime" to enum sonde_record_way; NULL: the best. */
int sn_way_read(const char *text, int *ret_way, struct sonde_error *err);
const char *sn_way_name(int way);

/* 0, which means the default, for NULL. */
int sn_frequency_read(const char *given, uint32_t *ret_frequency, struct sonde_error *err);

#endif
