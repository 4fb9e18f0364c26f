#include "daemon/download_piece.h"

#include "base/err.h"
#include "base/own.h"
#include "base/redact.h"
#include "daemon/artefact.h"

#define PIECE_BYTES (256u << 10)
#define SHOWN_MAX   (64u << 20)

void sn_download_pieces_begin(struct sn_download_pieces *pieces, struct sn_artefact *to)
{
    pieces->to = to;
    pieces->piece = sn_buf_with_limit(PIECE_BYTES);
}

void sn_download_pieces_done(struct sn_download_pieces *pieces)
{
    sn_buf_done(&pieces->piece);
}

static int append(struct sn_download_pieces *pieces, const void *bytes, size_t size)
{
    return sn_artefact_append(pieces->to, bytes, size, &pieces->err);
}

static int flush(struct sn_download_pieces *pieces)
{
    int rc =
        pieces->piece.size ? append(pieces, pieces->piece.bytes, pieces->piece.size) : SONDE_OK;
    sn_buf_clear(&pieces->piece);
    return rc;
}

static int gather(struct sn_download_pieces *pieces, const void *bytes, size_t size)
{
    int rc = size > PIECE_BYTES - pieces->piece.size ? flush(pieces) : SONDE_OK;
    if (rc != SONDE_OK)
        return rc;
    if (size > PIECE_BYTES)
        return append(pieces, bytes, size);
    sn_buf_append(&pieces->piece, bytes, size);
    return pieces->piece.failed ? sn_fail(&pieces->err, SONDE_E_NOMEM, 0, "no memory for a file")
                                : SONDE_OK;
}

int sn_download_pieces_write(void *user, const void *bytes, size_t size)
{
    struct sn_download_pieces *pieces = user;
    size_t most = pieces->shown_max ? pieces->shown_max : SHOWN_MAX;
    SN_AUTO(sn_buf_done) struct sn_buf shown = sn_buf_with_limit(most);
    if (pieces->err.status != SONDE_OK)
        return pieces->err.status;
    if (!pieces->hides_secrets)
        return gather(pieces, bytes, size);
    (void)sn_redact_text(&shown, bytes, size);
    struct sn_buf_view view = sn_buf_view(&shown);
    return shown.failed ? sn_fail(&pieces->err, SONDE_E_LIMIT, 0,
                                  "an event is too large to be shown without its secrets")
                        : gather(pieces, view.text, view.size);
}

int sn_download_pieces_finish(struct sn_download_pieces *pieces)
{
    return pieces->err.status == SONDE_OK ? flush(pieces) : pieces->err.status;
}
