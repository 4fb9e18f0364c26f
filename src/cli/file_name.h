/* Names for files that nobody named: what was recorded, and when. */
#ifndef SN_CLI_FILE_NAME_H
#define SN_CLI_FILE_NAME_H

#include <stdint.h>

struct sn_buf;

/* Appends the last part of `path`, with "_" for what could trouble a shell or a file system. */
void sn_file_name_safe(struct sn_buf *to, const char *path);

/* Appends the name of a .NET process; `otherwise` when it is none. */
void sn_file_name_process(struct sn_buf *to, uint32_t pid, const char *otherwise);

/* Appends "_20260131_235959" and `ending`. */
void sn_file_name_stamp(struct sn_buf *to, const char *ending);

#endif
