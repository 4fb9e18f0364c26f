/* The folders where the programs of one user meet while they run: small files under flock, which
 * the kernel releases however their holder ends. What is in the environment, which differs between
 * a login and a timer, does not count. */
#ifndef SN_RUN_FOLDER_H
#define SN_RUN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* How many there may be: /run/user/UID/sonde, which a login makes and takes away, and
 * /tmp/sonde-UID. */
#define SN_RUN_FOLDERS 2u

/* The folder of that number: of this user, and nobody else may write to it. -1: there is none that
 * is fit. */
int sn_run_folder_open(size_t number);

/* The first that is fit, made if need be; or -1. */
int sn_run_folder_make(void);

/* A regular file in it, opened for both without following a link; `flags` may have O_CREAT. -1: it
 * is something else, or cannot be had. */
int sn_run_file_open(int folder, const char *name, int flags);

/* Whether `file` is what has this name now: its holder may have removed it before it was locked. */
bool sn_run_file_is(int folder, const char *name, int file);

#endif
