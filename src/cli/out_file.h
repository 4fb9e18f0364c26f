/* A file that a verb writes: there whole or not at all. It is written under another name and takes
 * its own once it is done, so that a failure or Ctrl-C leaves what was there before. One at a time.
 */
#ifndef SN_CLI_OUT_FILE_H
#define SN_CLI_OUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_error;

struct sn_out_file {
    const char *path; /* borrows; "-": standard output */
    char *target;     /* owns; what links lead to */
    char *partial;    /* owns; the name until it is done; NULL: written in place */
    int fd;
    uint64_t byte_count;
};

/* Links stay, what they lead to is replaced and keeps its mode. Devices, pipes and what is open
 * already (/dev/stdout) are written in place. `inputs`, ended by NULL, are what is read:
 * SONDE_E_ARGUMENT if `path` is one of them or the CPU record beside it. */
int sn_out_file_open(struct sn_out_file *file, const char *path, const char *const *inputs,
                     struct sonde_error *err);

/* The name under which it can be opened again while it is written; NULL for what is open already.
 */
const char *sn_out_file_name(const struct sn_out_file *file);

int sn_out_file_write(struct sn_out_file *file, const void *bytes, size_t size,
                      struct sonde_error *err);

/* Gives it its name. */
int sn_out_file_finish(struct sn_out_file *file, struct sonde_error *err);

/* Closes it; what was not finished is removed. */
void sn_out_file_close(struct sn_out_file *file);

static inline void sn_out_file_close_auto(struct sn_out_file *file)
{
    sn_out_file_close(file);
}

#endif
