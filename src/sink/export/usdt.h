/* Events as probes of sonde's own process (USDT): whoever traces it with BPF, bpftrace or the like
 * sees what the watched runtimes say. The probes are listed in docs/man/sonde-export.1. */
#ifndef SN_EXPORT_USDT_H
#define SN_EXPORT_USDT_H

#include "sink/export/event_user.h"

struct sn_usdt;

/* Of [usdt], which has been checked. */
int sn_usdt_open(struct sn_configuration *configuration, const struct sn_settings *settings,
                 struct sn_usdt **ret_usdt, struct sonde_error *err);
void sn_usdt_free(struct sn_usdt *usdt); /* NULL is fine */

struct sn_event_user *sn_usdt_user(struct sn_usdt *usdt);

#endif
