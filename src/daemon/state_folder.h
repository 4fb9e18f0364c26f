/* Where the controller keeps what must outlive it: keys, certificate, store, recordings. */
#ifndef SN_STATE_FOLDER_H
#define SN_STATE_FOLDER_H

#include <stdbool.h>

#include "sonde/error.h"

/* `given`, else $STATE_DIRECTORY (of a systemd unit), $XDG_STATE_HOME/sonde or
 * ~/.local/state/sonde. The caller frees it. */
int sn_state_folder_path(const char *given, char **ret_path, struct sonde_error *err);

/* Makes it, and what is above it, of mode 0700. One that others may write into is refused:
 * whoever can replace the keys holds every key. */
int sn_state_folder_make(const char *path, struct sonde_error *err);

/* Makes it if need be; false: nothing can be kept there. */
bool sn_state_folder_is_usable(const char *path);

/* It is one controller's at a time: SONDE_E_BUSY with the pid of the other, which gets two seconds
 * to end. The descriptor holds it. */
int sn_state_folder_lock(const char *path, int *ret_fd, struct sonde_error *err);

#endif
