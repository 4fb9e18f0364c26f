/* How a reader of files fills in a configuration, piece by piece. */
#ifndef SN_EXPORT_SETTINGS_PARTS_H
#define SN_EXPORT_SETTINGS_PARTS_H

#include "sink/export/settings.h"

/* Finds or makes the section of a title, "graphite NAME"; *ret_settings is NULL, and a problem
 * told, when there can be none. */
int sn_settings_open(struct sn_configuration *configuration, const char *title, unsigned line,
                     struct sn_settings **ret_settings, struct sonde_error *err);

/* Adds a key, or a problem when it cannot be. */
int sn_settings_add(struct sn_configuration *configuration, struct sn_settings *settings,
                    const char *name, const char *value, unsigned line, struct sonde_error *err);

#endif
