/* Sessions that outlive the controller: whoever is let in stays so over a restart. Only hashes are
 * written, so that the file opens nothing to who reads it. */
#ifndef SN_SESSION_FILE_H
#define SN_SESSION_FILE_H

#include "daemon/session_table.h"

/* What is not there or cannot be read is no session: people log in again. */
void sn_session_file_load(const char *folder, struct sn_session_table *table);

void sn_session_file_save(const char *folder, const struct sn_session_table *table);

#endif
