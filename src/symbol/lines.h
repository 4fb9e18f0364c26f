/* Code addresses to source lines: the runtime's IL-to-native maps, then the portable PDB of the
 * module. One process, one thread.
 *
 * Fill it beside the methods, in the same pass; then ask. No file is opened before the first
 * question about its module. */
#ifndef SN_LINES_H
#define SN_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_event;
struct sn_lines;
struct sn_method;
struct sn_methods;
struct sonde_error;

/* Borrows `methods`, which may still grow. */
int sn_lines_new(const struct sn_methods *methods, struct sn_lines **ret_lines,
                 struct sonde_error *err);
void sn_lines_free(struct sn_lines *lines);

static inline void sn_lines_free_auto(struct sn_lines **slot)
{
    sn_lines_free(*slot);
}

extern const struct sn_request sn_lines_request;

/* One event that the request lets through; what it is not about is passed over. */
void sn_lines_take(struct sn_lines *lines, const struct sn_event *event);

/* File and line of code, as sn_line_fn has it (symbol/frames.h). `address` lies in the instruction
 * that is asked about: for a caller's frame that is the return address less one. */
bool sn_lines_find(struct sn_lines *lines, const struct sn_method *method, uint64_t address,
                   const char **ret_file, uint32_t *ret_line);

#endif
