/* Where the controller of a user has its Unix socket: made there by `sonde serve`, looked for there
 * by everything else. */
#ifndef SN_CONTROL_PATH_H
#define SN_CONTROL_PATH_H

#include <stddef.h>

#include "sonde/error.h"

#define SN_CONTROL_PATH_SIZE 108u /* what a socket's address can hold */
#define SN_CONTROL_PATHS     4u

/* Every place, best first, whether something is there or not; returns how many. In each of them a
 * folder of our own holds the socket: $XDG_RUNTIME_DIR/sonde, /run/user/UID/sonde, /tmp/sonde-UID,
 * and the system's, /run/sonde. */
size_t sn_control_paths(char to[SN_CONTROL_PATHS][SN_CONTROL_PATH_SIZE]);

/* The place for a controller of ours: below the first of them that is there, of root /run/sonde.
 * Its folder is made and must be ours alone: SONDE_E_DENIED when another user was there first. */
int sn_control_path_make(char to[SN_CONTROL_PATH_SIZE], struct sonde_error *err);

#endif
