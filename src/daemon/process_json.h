/* Processes in JSON, as /api/v1/processes and the topic of that name tell them: command lines
 * without secrets below that scope. No state. */
#ifndef SN_PROCESS_JSON_H
#define SN_PROCESS_JSON_H

#include "base/json.h"
#include "daemon/access.h"
#include "sonde/process.h"

struct sn_buf;

/* Its whole command line, with blanks between the arguments; below the secrets scope without what
 * looks like a secret. */
void sn_process_json_command_line(struct sn_buf *to, const struct sonde_process *process,
                                  enum sn_scope scope);

/* Its command line without what looks like a secret. */
void sn_process_json_redact(struct sn_buf *to, const struct sonde_process *process);

void sn_process_json_write(struct sn_json *json, const struct sonde_process *process,
                           enum sn_scope scope);
/* {"processes": [...]}, ourselves left out. */
void sn_process_json_list(struct sn_buf *to, const struct sonde_process_list *list,
                          enum sn_scope scope);

#endif
