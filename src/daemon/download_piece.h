/* What is written of a converted file by the piece: gathered, without what looks like a secret for
 * who may not see that, and into an artefact. A piece that cannot be written is an error, never
 * less of the file. One thread. */
#ifndef SN_DOWNLOAD_PIECE_H
#define SN_DOWNLOAD_PIECE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "sonde/error.h"

struct sn_artefact;

struct sn_download_pieces {
    struct sn_artefact *to; /* borrows */
    bool hides_secrets;
    size_t shown_max;    /* of a piece without secrets; 0: 64 MB */
    struct sn_buf piece; /* what was not written yet */
    struct sonde_error err;
};

void sn_download_pieces_begin(struct sn_download_pieces *pieces, struct sn_artefact *to);
void sn_download_pieces_done(struct sn_download_pieces *pieces);

/* Takes all of `bytes` or fails, as does everything after it; `user` is the pieces. */
int sn_download_pieces_write(void *user, const void *bytes, size_t size);

/* The rest. The first failure of all. */
int sn_download_pieces_finish(struct sn_download_pieces *pieces);

#endif
