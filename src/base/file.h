/* Small files, whole: read with a ceiling, from anywhere in /proc or a target's root. */
#ifndef SN_FILE_H
#define SN_FILE_H

#include <stddef.h>
#include <stdint.h>

struct sn_buf;
struct sonde_error;

/* Appends the whole of `path` below directory `dir_fd` (AT_FDCWD: as open). What fills `buf` to its
 * limit is SONDE_E_LIMIT. Reads until end of file, as files in /proc have no size. */
int sn_file_read_at(int dir_fd, const char *path, struct sn_buf *buf, struct sonde_error *err);

/* The same, but cuts at `size` bytes instead of failing, into `to`, with a zero behind it. Returns
 * the number of bytes or -1 with errno. For the small files of /proc, without allocation. */
long sn_file_peek_at(int dir_fd, const char *path, char *to, size_t size);

/* Only the lines that begin with one of `keys` (NULL ends them), from the start of the file,
 * however long the others are: /proc/PID/status lists thousands of groups and processors. A line is
 * cut at 255 bytes. Otherwise like the peek. */
long sn_file_peek_lines(int fd, const char *const *keys, char *to, size_t size);
long sn_file_peek_lines_at(int dir_fd, const char *path, const char *const *keys, char *to,
                           size_t size);

/* Opens a regular file of somebody who is not trusted, for reading; no link, and nothing happens to
 * what else it may be: a device may do something as soon as it is opened. -1 with errno. */
int sn_file_open_regular_at(int dir_fd, const char *name);

/* Opens `path` for writing, new or not; what is in it stays until the first write of the caller,
 * who truncates. Pipes are refused: to open one would wait for a reader. SONDE_E_SYSTEM. */
int sn_file_create(const char *path, int *ret_fd, struct sonde_error *err);

/* In the place of what has that name, if anything: a link is replaced, never followed. */
int sn_file_create_anew(const char *path, int *ret_fd, struct sonde_error *err);

/* Empties it, where it has a length: devices have none. */
void sn_file_truncate(int fd);

/* Writes all of it or fails; retries after EINTR and short writes. */
int sn_file_write_all(int fd, const void *bytes, size_t size, struct sonde_error *err);

/* Puts `text` in the place of the small file `name` (at most 200 characters), mode 0600: the new
 * content is on the disk before the old goes. One that has `failed` is SONDE_E_LIMIT. */
int sn_file_replace_at(int folder, const char *name, const struct sn_buf *text,
                       struct sonde_error *err);

/* How many of `size` bytes came from `offset` on: fewer where it ends or cannot be read. */
size_t sn_file_read_from(int fd, uint64_t offset, void *to, size_t size);

/* All that is left to read of `from`, behind what was written to `to`. */
int sn_file_copy(int from, int to, struct sonde_error *err);

#endif
