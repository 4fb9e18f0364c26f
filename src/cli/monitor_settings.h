/* The settings of dotnet-monitor, put together from where it looks for them: names with colons
 * between their parts, "Metrics:Enabled", whatever the case; the last who says something is heard.
 */
#ifndef SN_CLI_MONITOR_SETTINGS_H
#define SN_CLI_MONITOR_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "sonde/error.h"

#define SN_MONITOR_SETTINGS_MAX 4096u

struct sn_monitor_setting {
    const char *name;
    const char *value;  /* NULL: null */
    const char *source; /* "settings.json": who said so last */
};

/* In place; begin with sn_monitor_settings_init. */
struct sn_monitor_settings {
    struct sn_arena arena;
    struct sn_monitor_setting *items; /* owns; sorted by name */
    size_t count;
};

void sn_monitor_settings_init(struct sn_monitor_settings *settings);
void sn_monitor_settings_done(struct sn_monitor_settings *settings);

/* Copies all three. False: too many, or no memory. */
bool sn_monitor_settings_set(struct sn_monitor_settings *settings, const char *name,
                             const char *value, const char *source);

/* NULL: nobody says so. */
const char *sn_monitor_settings_get(const struct sn_monitor_settings *settings, const char *name);
/* "true" and "false", whatever the case. */
bool sn_monitor_settings_flag(const struct sn_monitor_settings *settings, const char *name,
                              bool standard);

/* The first setting from `index` on that is `section` or within it; `count` when there is none. */
size_t sn_monitor_settings_within(const struct sn_monitor_settings *settings, const char *section,
                                  size_t index);

/* --- where they come from --- */

/* The objects, lists and values of a JSON file. SONDE_E_NOT_FOUND. */
int sn_monitor_settings_read_file(struct sn_monitor_settings *settings, const char *path,
                                  struct sonde_error *err);
/* A file a setting, named with "__" for the colons, as secrets are mounted. None is no failure. */
void sn_monitor_settings_read_folder(struct sn_monitor_settings *settings, const char *path);
/* Variables that begin with `prefix`, "__" for the colons; only those of `sections` (with commas)
 * unless that is NULL. */
void sn_monitor_settings_read_variables(struct sn_monitor_settings *settings,
                                        char *const *variables, const char *prefix,
                                        const char *sections);

/* --- `config show` --- */

struct sn_buf;

/* All of it as JSON with indentation; secrets only if `is_full`. */
void sn_monitor_settings_show(const struct sn_monitor_settings *settings, bool is_full,
                              bool with_sources, struct sn_buf *to);

#endif
