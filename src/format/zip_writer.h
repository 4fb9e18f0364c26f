/* Writes a zip file, deflated, a piece at a time; members beyond 4 GiB are fine. Every member's
 * head is complete, so that also what is left of a cut file can be read from its start. One thread.
 */
#ifndef SN_ZIP_WRITER_H
#define SN_ZIP_WRITER_H

#include <stddef.h>
#include <stdint.h>

struct sn_zip_writer;
struct sonde_error;

/* Into `fd`, a file of ours that is empty; borrowed. `utc_ns` is the time of all members. */
int sn_zip_writer_new(int fd, uint64_t utc_ns, struct sn_zip_writer **ret_writer,
                      struct sonde_error *err);
void sn_zip_writer_free(struct sn_zip_writer *writer);

static inline void sn_zip_writer_free_auto(struct sn_zip_writer **slot)
{
    sn_zip_writer_free(*slot);
}

/* A member: begin, write as often as needed, end. `most` is a bound of its size. */
int sn_zip_writer_begin(struct sn_zip_writer *writer, const char *name, uint64_t most,
                        struct sonde_error *err);
int sn_zip_writer_write(struct sn_zip_writer *writer, const void *bytes, size_t size,
                        struct sonde_error *err);
int sn_zip_writer_end(struct sn_zip_writer *writer, struct sonde_error *err);

/* Writes the directory: without it there is no zip file. */
int sn_zip_writer_finish(struct sn_zip_writer *writer, struct sonde_error *err);

/* Written so far. */
uint64_t sn_zip_writer_bytes(const struct sn_zip_writer *writer);

#endif
