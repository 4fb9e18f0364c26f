/* Rules: numbers made of raw events, sent to exporters under a path that each event fills in. */
#ifndef SN_EXPORT_RULE_H
#define SN_EXPORT_RULE_H

#include "sink/export/event_user.h"
#include "sink/export/exporters.h"

struct sn_rule;

/* Of a [rule NAME], which has been checked. `exporters` are those that are open; the rule picks its
 * own. Borrows the configuration and the exporters. */
int sn_rule_open(struct sn_configuration *configuration, const struct sn_settings *settings,
                 struct sn_exporter *const *exporters, size_t exporter_count,
                 struct sn_rule **ret_rule, struct sonde_error *err);
void sn_rule_free(struct sn_rule *rule);

struct sn_event_user *sn_rule_user(struct sn_rule *rule);

/* The end of an interval: sends what was put together since the last one. */
void sn_rule_flush(struct sn_rule *rule);

/* Events whose field is no number or not there, and those for paths over a ceiling: a thousand in
 * an interval that are put together, ten thousand while the rule lives. */
uint64_t sn_rule_dropped(const struct sn_rule *rule);

#endif
