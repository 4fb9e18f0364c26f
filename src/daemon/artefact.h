/* A file that is being made, or was: written in one thread, read in another while it grows.
 * Responses follow it; what was read of one that nobody wants to keep is given back to the disk.
 * Counted references, from any thread. */
#ifndef SN_ARTEFACT_H
#define SN_ARTEFACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sonde/error.h"

struct sn_artefact;

/* Over a file that exists or will. `is_kept`: it stays when the last reference goes; otherwise it
 * is removed then (with what stands beside it under its name and ".cpu", ".names" or ".symbols"),
 * and holes take the place of what a reader has read. */
int sn_artefact_new(const char *path, bool is_kept, struct sn_artefact **ret_artefact,
                    struct sonde_error *err);
struct sn_artefact *sn_artefact_hold(struct sn_artefact *artefact);
void sn_artefact_release(struct sn_artefact *artefact); /* NULL is fine */

const char *sn_artefact_path(const struct sn_artefact *artefact);
void sn_artefact_keep(struct sn_artefact *artefact); /* from now on it is kept */
void sn_artefact_drop(struct sn_artefact *artefact); /* not any more; who reads it reads on */

/* Its maker, who has one reference, is told when nobody else has one any more; called in whatever
 * thread lets go of it, which must only post. NULL takes it back. */
void sn_artefact_on_alone(struct sn_artefact *artefact, void (*alone)(void *user), void *user);

/* Told when the last reference goes, in the thread that lets go of it; nothing is locked then. */
void sn_artefact_on_gone(struct sn_artefact *artefact, void (*gone)(void *user), void *user);

/* The writer: says how much there is, how it ended. `append` is for who has no writer of his own.
 * Readers see what was there at the last of these calls, no more: a file that is written in any
 * other way than to its end is told of when it is whole. */
int sn_artefact_append(struct sn_artefact *artefact, const void *bytes, size_t size,
                       struct sonde_error *err);
void sn_artefact_grown(struct sn_artefact *artefact); /* the file has grown: followers look again */
void sn_artefact_end(struct sn_artefact *artefact, int status, const char *message);

/* The reader, one a follower: bytes at `offset`; 0: none yet; SN_ARTEFACT_END; SN_ARTEFACT_FAILED.
 */
#define SN_ARTEFACT_END    ((ssize_t)-1)
#define SN_ARTEFACT_FAILED ((ssize_t)-2)
ssize_t sn_artefact_read(struct sn_artefact *artefact, uint64_t offset, void *to, size_t size);
uint64_t sn_artefact_size(const struct sn_artefact *artefact); /* so far */
uint64_t sn_artefact_held(const struct sn_artefact *artefact); /* without what was given back */
bool sn_artefact_is_ended(const struct sn_artefact *artefact, int *ret_status);

/* Called from whatever thread makes it grow or end, which must only post; any number of followers,
 * one a `user`. NULL takes it back: it is not called any more then. False: no memory. */
bool sn_artefact_follow(struct sn_artefact *artefact, void (*changed)(void *user), void *user);

#endif
