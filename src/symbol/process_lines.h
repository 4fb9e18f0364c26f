/* Source lines of managed code of every process of a recording: an sn_lines each. One thread. */
#ifndef SN_PROCESS_LINES_H
#define SN_PROCESS_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct sn_code;
struct sn_place;
struct sn_process_lines;
struct sn_sink;
struct sonde_error;

/* Borrows `code`, which may still grow. */
int sn_process_lines_new(struct sn_code *code, struct sn_process_lines **ret_lines,
                         struct sonde_error *err);
void sn_process_lines_free(struct sn_process_lines *lines);

/* The sink that takes the maps; subscribe it with sn_lines_request, unordered. Borrows. */
struct sn_sink *sn_process_lines_sink(struct sn_process_lines *lines);

/* An sn_line_fn (symbol/frames.h). */
bool sn_process_lines_find(void *user, const struct sn_place *place, uint64_t address,
                           const char **ret_file, uint32_t *ret_line);

#endif
