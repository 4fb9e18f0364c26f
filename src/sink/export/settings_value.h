/* One value of a configuration: whether it is what its key takes, in words for people. No state. */
#ifndef SN_EXPORT_SETTINGS_VALUE_H
#define SN_EXPORT_SETTINGS_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sink/export/settings.h"

/* Whether `value` is what the key takes; its number where it is one. Otherwise what it should be is
 * appended to `reason`: "a duration such as 5s". */
bool sn_setting_read(const struct sn_setting_key *key, const char *value, uint64_t *ret_number,
                     struct sn_buf *reason);

/* Appends `value` with each ${NAME} exchanged for that variable of the environment. False, and the
 * reason instead: one is not set, or there is a ${ without an end. */
bool sn_setting_expand(const char *value, struct sn_buf *to, struct sn_buf *reason);

/* The one of `count` names that was most likely meant; NULL when none is near. */
const char *sn_setting_nearest(const char *given, const char *const *names, size_t count);

#endif
