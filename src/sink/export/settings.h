/* The configuration of sonde export: sections of keys and values, each known by a table that says
 * what it takes. Everything wrong with a file is told with its line; nothing is guessed. One
 * thread. */
#ifndef SN_EXPORT_SETTINGS_H
#define SN_EXPORT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "sonde/error.h"

enum sn_setting_type {
    SN_SETTING_TEXT,
    SN_SETTING_LIST,     /* words with commas between; may stand in several lines */
    SN_SETTING_LINES,    /* one value a line, several lines */
    SN_SETTING_NUMBER,   /* not negative */
    SN_SETTING_BYTES,    /* "4MiB" */
    SN_SETTING_DURATION, /* "5s" */
    SN_SETTING_FLAG,     /* yes, no, true, false, on, off, 1, 0 */
    SN_SETTING_CHOICE,   /* one of `allowed` */
    SN_SETTING_URL,      /* a scheme of `allowed`, then a place */
    SN_SETTING_ADDRESS,  /* host:port */
};

/* What one key takes. */
struct sn_setting_key {
    const char *name;
    enum sn_setting_type type;
    const char *fallback; /* the value when it is not given; NULL: none */
    const char *allowed;  /* words with blanks between: choices, schemes */
    const char *example;  /* for the example file, when that is not the fallback */
    const char *help;     /* one line, lower case */
    bool is_required;
};

/* What one section takes. */
struct sn_section_kind {
    const char *name;
    const char *help;
    const struct sn_setting_key *keys; /* ended by one without a name; NULL: any key at all */
    bool has_name;                     /* [rule NAME]: must have a name */
    bool may_repeat;                   /* [graphite], [graphite NAME]: several of them */
    bool is_exporter;
    const char *sample; /* a whole example section where keys alone do not make one; or NULL */
};

/* Ended by one without a name. */
extern const struct sn_section_kind sn_section_kinds[];

const struct sn_section_kind *sn_section_kind_find(const char *name);
const struct sn_setting_key *sn_setting_key_find(const struct sn_section_kind *kind,
                                                 const char *name);

/* One key with its value. */
struct sn_setting {
    const struct sn_setting_key *key; /* NULL in a section of any keys */
    const char *name;
    const char *value;
    uint64_t number; /* of numbers, bytes, durations (nanoseconds) and flags */
    unsigned line;   /* 0: not from a file */
    bool is_literal; /* nothing of it came from the environment */
};

/* A section. */
struct sn_settings {
    const struct sn_section_kind *kind;
    const char *name; /* "NAME" of [rule NAME]; "" */
    unsigned line;
    struct sn_setting *items;
    size_t count;
    size_t capacity;
};

/* What is wrong with a file, or strange about it. */
struct sn_settings_problem {
    unsigned line; /* 0: of the whole file */
    bool is_warning;
    const char *text;
};

/* All of it. */
struct sn_configuration {
    const char *path; /* for messages; "" when it is not a file */
    struct sn_settings **sections;
    size_t section_count;
    size_t section_capacity;
    struct sn_settings_problem *problems; /* by line */
    size_t problem_count;
    size_t problem_capacity;
    size_t error_count; /* those of them that are no warnings */
    struct sn_arena texts;
};

/* One with nothing but empty [targets], [counters] and [labels], which are always there; to be
 * filled in by sn_configuration_set. */
int sn_configuration_new(const char *path, struct sn_configuration **ret_configuration,
                         struct sonde_error *err);

/* Reads a file, or its text. Succeeds also when there are problems: they are in it.
 * sn_configuration_check is still to be called. */
int sn_configuration_read(const char *path, struct sn_configuration **ret_configuration,
                          struct sonde_error *err);
int sn_configuration_parse(const char *path, const char *text, size_t size,
                           struct sn_configuration **ret_configuration, struct sonde_error *err);

/* Adds a value to a section, which is made when it is not there. Bad ones become problems. */
int sn_configuration_set(struct sn_configuration *configuration, const char *section,
                         const char *key, const char *value, struct sonde_error *err);

/* What needs the whole: keys that are missing, rules that lead nowhere, conditions and providers
 * that cannot be read. Adds problems and sorts them. SONDE_E_NOMEM. */
int sn_configuration_check(struct sn_configuration *configuration, struct sonde_error *err);

/* The first thing wrong, as an error: "shop.ini:12: ..."; SONDE_OK when nothing is. */
int sn_configuration_fault(const struct sn_configuration *configuration, struct sonde_error *err);

void sn_configuration_free(struct sn_configuration *configuration);

static inline void sn_configuration_free_auto(struct sn_configuration **slot)
{
    sn_configuration_free(*slot);
}

/* Adds a problem; no more than a hundred are kept. */
void sn_configuration_problem(struct sn_configuration *configuration, unsigned line,
                              bool is_warning, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What a configuration may have of these; checked. */
#define SN_EXPORTERS_MAX 64u
#define SN_RULES_MAX     256u
#define SN_PIDS_MAX      1024u
#define SN_LABELS_MAX    64u

/* The section of this kind and name ("": without one), or NULL. */
struct sn_settings *sn_configuration_find(const struct sn_configuration *configuration,
                                          const char *kind, const char *name);

/* Values, given or else the fallback. Text is "" when there is neither; a number 0. */
const char *sn_settings_text(const struct sn_settings *settings, const char *key);
uint64_t sn_settings_number(const struct sn_settings *settings, const char *key);
bool sn_settings_has(const struct sn_settings *settings, const char *key); /* it is given */

static inline bool sn_settings_flag(const struct sn_settings *settings, const char *key)
{
    return sn_settings_number(settings, key) != 0;
}

/* Every value of a list, trimmed; *ret_count of them. Lives as long as the configuration; NULL
 * without memory. */
const char *const *sn_settings_list(struct sn_configuration *configuration,
                                    const struct sn_settings *settings, const char *key,
                                    size_t *ret_count);

/* "rule slow". `to` needs 96 bytes. */
const char *sn_settings_title(const struct sn_settings *settings, char to[96]);

/* How wide a column of all titles is: 16 or more. */
int sn_settings_title_width(const struct sn_configuration *configuration);

#endif
