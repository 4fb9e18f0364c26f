/* A configuration in words: what each section means, and an example of everything there is. */
#ifndef SN_EXPORT_EXPLAIN_H
#define SN_EXPORT_EXPLAIN_H

#include <stdbool.h>

#include "base/buf.h"
#include "sink/export/settings.h"

/* Appends one sentence, without a full stop. */
void sn_settings_explain(struct sn_configuration *configuration, const struct sn_settings *settings,
                         struct sn_buf *to);

/* Appends a whole file with every section and key: help as comments, keys with their defaults or an
 * example, all of it commented out but for [prometheus], so that it works as it is. */
void sn_settings_example(struct sn_buf *to);

#endif
