/* Where the bytes of a saved trace come from: a .nettrace file, the trace in a zip archive, or a
 * recorder's journal, finished or not. One thread. */
#ifndef SN_INPUT_H
#define SN_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct sn_buf;
struct sn_input;
struct sonde_error;

enum sn_input_kind {
    SN_INPUT_FILE,
    SN_INPUT_ZIP,
    SN_INPUT_JOURNAL, /* nobody writes to it any more */
    SN_INPUT_LIVE,    /* a journal whose recorder is at it: it reads to what was flushed so far */
};

/* What it is shows in the bytes, not in the name. */
int sn_input_open(const char *path, struct sn_input **ret_input, struct sonde_error *err);
void sn_input_free(struct sn_input *input);

static inline void sn_input_free_auto(struct sn_input **slot)
{
    sn_input_free(*slot);
}

enum sn_input_kind sn_input_kind(const struct sn_input *input);

/* The trace's next bytes; 0 is its end. */
int sn_input_read(struct sn_input *input, void *to, size_t size, size_t *ret_got,
                  struct sonde_error *err);

/* Appends a member of the archive or journal at `path`, whole: "manifest.json", "cpu/1234.cpu".
 * SONDE_E_NOT_FOUND: it has none, or is a mere file; SONDE_E_LIMIT: it does not fit `to`. */
int sn_input_member(const char *path, const char *member, struct sn_buf *to,
                    struct sonde_error *err);

#endif
