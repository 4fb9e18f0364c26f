/* What opening a session takes, for traces and subscriptions alike. */
#ifndef SN_OPENING_H
#define SN_OPENING_H

#include <stddef.h>
#include <stdint.h>

struct sn_ipc_provider;
struct sn_loop;
struct sn_source;
struct sonde_error;
struct sonde_provider;

/* The buffer to ask of a target that is not to suffer: `usual`, or a twentieth of its memory limit
 * where that is less. */
uint32_t sn_opening_buffer_mb(uint32_t usual, uint32_t pid);

/* The providers as the port wants them; borrows from `from`. The caller frees; NULL: no memory. */
struct sn_ipc_provider *sn_opening_providers(const struct sonde_provider *from, size_t count);

/* Turns the loop, for all that is on it, until this EventPipe source is open or has failed. */
int sn_opening_wait(struct sn_loop *loop, const struct sn_source *source, struct sonde_error *err);

#endif
