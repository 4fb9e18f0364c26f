#include "daemon/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/operation_table.h"
#include "daemon/recording_routes.h"
#include "daemon/recordings.h"
#include "daemon/rest_call.h"
#include "daemon/spool.h"
#include "daemon/workers.h"
#include "net/http_server.h"

#define UPLOADS_MAX  4u
#define PIECE_BYTES  (512u << 10)
#define FILLING_MAX  (4u << 20) /* a piece, and what one call may bring */
#define DISK_IS_FULL "the disk is full: make room on the disk of the state folder, and try again"
#define RATE_MIN     (16u << 10) /* bytes a second */

/* --- the file --- */

static void release(struct sn_upload *upload)
{
    if (atomic_fetch_sub(&upload->reference_count, 1) != 1)
        return;
    sn_close(upload->fd);
    if (upload->path[0])
        (void)unlink(upload->path);
    struct sn_operations *operations = upload->daemon->operations;
    if (operations) { /* else all of it ends, and calls are the last to go */
        atomic_fetch_sub(&operations->upload_count, 1);
        atomic_fetch_sub(&operations->upload_bytes, upload->promised);
    }
    sn_buf_done(&upload->filling);
    sn_buf_done(&upload->writing);
    free(upload);
}

/* Of the call, wherever that ends; while it comes that is the HTTP thread. */
static void forget(void *user)
{
    struct sn_upload *upload = user;
    upload->call = NULL;
    release(upload);
}

static int open_file(struct sn_upload *upload, struct sonde_error *err)
{
    char id[37];
    int rc = sn_spool_id(id, err);
    if (rc != SONDE_OK)
        return rc;
    int size = snprintf(upload->path, sizeof(upload->path), "%s/%s.upload",
                        upload->daemon->operations->spool, id);
    if (size < 0 || (size_t)size >= sizeof(upload->path)) {
        upload->path[0] = 0;
        return sn_fail(err, SONDE_E_LIMIT, 0, "the path of the state folder is too long");
    }
    upload->fd = open(upload->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (upload->fd < 0) {
        upload->path[0] = 0;
        return sn_fail_errno(err, "cannot make a file for it");
    }
    return SONDE_OK;
}

/* --- writing --- */

static void go_on(struct sn_upload *upload);

/* Without waiting for the end: what has come is not wanted. */
static void fail(struct sn_upload *upload, unsigned status, const char *why)
{
    struct sn_rest_call *call = SN_TAKE(upload->call);
    if (!call)
        return;
    sn_rest_problem(call, status, "%s", why);
    sn_rest_finish(call);
}

/* One that did not say how large it is has what others were not promised. */
static bool has_room_still(struct sn_upload *upload)
{
    struct sn_operations *operations = upload->daemon->operations;
    return upload->is_announced ||
           sn_spool_room(operations->spool, sn_operation_quota(upload->daemon)) >=
               atomic_load(&operations->upload_bytes) + upload->writing.size;
}

static void keep_promise(struct sn_upload *upload, uint64_t size)
{
    size = size < upload->promised ? size : upload->promised;
    upload->promised -= size;
    atomic_fetch_sub(&upload->daemon->operations->upload_bytes, size);
}

/* In a worker. */
static void write_piece(struct sn_upload *upload)
{
    struct sonde_error err = {0};
    if (sn_spool_is_full(upload->daemon->operations->spool))
        (void)sn_fail(&upload->err, SONDE_E_LIMIT, 0, DISK_IS_FULL);
    else if (!has_room_still(upload))
        (void)sn_fail(&upload->err, SONDE_E_LIMIT, 0,
                      "there is no room for more of it beside other files that are being sent");
    else if (sn_file_write_all(upload->fd, upload->writing.bytes, upload->writing.size, &err) !=
             SONDE_OK)
        (void)sn_fail(&upload->err, SONDE_E_LIMIT, 0, "it cannot be written: %s",
                      strerror(err.system_error));
    keep_promise(upload, upload->writing.size);
    sn_buf_clear(&upload->writing);
}

/* Back in the HTTP thread. */
static void has_written(void *user)
{
    struct sn_upload *upload = user;
    upload->is_writing = false;
    if (upload->call && upload->is_gone)
        fail(upload, 400, "its sender left");
    else if (upload->call && upload->err.status)
        fail(upload, 507, upload->err.text);
    else if (upload->call)
        go_on(upload);
    release(upload);
}

static void write_in_worker(void *user)
{
    struct sn_upload *upload = user;
    write_piece(upload);
    sn_http_server_post(upload->daemon->http, &upload->writer, has_written, upload);
}

static void start_writing(struct sn_upload *upload)
{
    struct sn_buf piece = upload->writing;
    upload->writing = upload->filling;
    upload->filling = piece;
    atomic_fetch_add(&upload->reference_count, 1);
    upload->is_writing = true;
    if (sn_workers_offer(upload->daemon->workers, &upload->writer, write_in_worker, upload))
        return;
    upload->is_writing = false;
    sn_rest_header(upload->call, "Retry-After", "5");
    fail(upload, 503, "too much waits to be done already; send it again in a moment");
    release(upload);
}

static void examine(struct sn_rest_call *call);

/* What came is written by the piece; the last of them when all is there. It may be gone behind
 * this.
 */
static void go_on(struct sn_upload *upload)
{
    struct sn_http_exchange *exchange =
        sn_http_exchange_find(upload->daemon->http, upload->call->exchange_id);
    if (exchange)
        sn_http_exchange_wake(exchange);
    if (upload->filling.size >= (upload->is_whole ? 1 : PIECE_BYTES))
        start_writing(upload);
    else if (upload->is_whole)
        sn_rest_move(upload->call, SN_SEAT_WORKER, examine);
}

/* --- from its sender --- */

static void refuse_size(struct sn_upload *upload, uint64_t max)
{
    char text[16];
    char why[256];
    (void)snprintf(
        why, sizeof(why),
        "the file is too large: there is room for %s (%llu bytes); delete recordings, or "
        "let 'sonde serve --store-size' keep more",
        sn_text_bytes(max, text), (unsigned long long)max);
    fail(upload, 413, why);
}

static bool take(void *user, const char *bytes, size_t size)
{
    struct sn_upload *upload = user;
    if (!upload->call)
        return true; /* it has its answer */
    upload->size += size;
    if (upload->size > upload->max) {
        refuse_size(upload, upload->max);
        return true;
    }
    sn_buf_append(&upload->filling, bytes, size);
    if (upload->filling.failed) {
        fail(upload, 503, "no memory");
        return true;
    }
    if (upload->filling.size < PIECE_BYTES)
        return true;
    if (upload->is_writing)
        return false;
    start_writing(upload);
    return true;
}

static void whole(void *user)
{
    struct sn_upload *upload = user;
    upload->is_whole = true;
    if (upload->call && !upload->is_writing)
        go_on(upload);
}

static void client_left(struct sn_rest_call *call)
{
    struct sn_upload *upload = call->user;
    upload->is_gone = true;
    if (!upload->is_writing)
        fail(upload, 400, "its sender left");
}

/* --- requests --- */

/* In a worker. */
static void examine(struct sn_rest_call *call)
{
    struct sn_upload *upload = call->user;
    struct sonde_error err = {0};
    bool is_safe = fdatasync(upload->fd) == 0; /* who is told that it is there may delete theirs */
    sn_close(upload->fd);
    upload->fd = -1;
    if (call->is_gone)
        sn_rest_problem(call, 400, "its sender left");
    else if (!is_safe)
        sn_rest_problem(call, 507, "it cannot be written to the disk");
    else if (!upload->size)
        sn_rest_problem(call, 422, "'%s' is empty: send the file as the body", upload->name);
    else if (sn_upload_examine(upload->path, upload->name, &upload->facts, &err) != SONDE_OK)
        sn_rest_problem(call, 422, "%s", err.text);
    else
        sn_rest_move(call, SN_SEAT_ROADS, sn_upload_make_recording);
}

/* Forms and what is compressed on the way are not the file itself. */
static bool is_plain(struct sn_rest_call *call, const struct sn_http_exchange *exchange)
{
    const char *type = sn_http_exchange_header(exchange, "Content-Type");
    const char *coding = sn_http_exchange_header(exchange, "Content-Encoding");
    if ((!type || strncasecmp(type, "multipart/", 10) != 0) &&
        (!coding || strcasecmp(coding, "identity") == 0))
        return true;
    sn_rest_problem(call, 415,
                    "the body must be the file itself, as 'curl --data-binary @FILE' sends it");
    return false;
}

static bool has_room(struct sn_rest_call *call, const struct sn_http_exchange *exchange,
                     uint64_t *ret_max)
{
    struct sn_operations *operations = call->daemon->operations;
    struct sn_upload nobody = {.call = call};
    if (atomic_fetch_add(&operations->upload_count, 1) >= UPLOADS_MAX) {
        atomic_fetch_sub(&operations->upload_count, 1);
        sn_rest_header(call, "Retry-After", "5");
        sn_rest_problem(call, 429, "%u files are being sent already: try again later", UPLOADS_MAX);
        return false;
    }
    uint64_t announced = sn_http_exchange_announced(exchange);
    uint64_t promised = atomic_load(&operations->upload_bytes);
    *ret_max = sn_spool_room(operations->spool, sn_operation_quota(call->daemon));
    *ret_max = *ret_max > promised ? *ret_max - promised : 0;
    if (*ret_max && (announced == UINT64_MAX || announced <= *ret_max))
        return true;
    atomic_fetch_sub(&operations->upload_count, 1);
    if (sn_spool_is_full(operations->spool))
        sn_rest_problem(call, 507, DISK_IS_FULL);
    else
        refuse_size(&nobody, *ret_max);
    return false;
}

/* What would be refused when all of it has come. */
static bool is_welcome(struct sn_rest_call *call)
{
    if (atomic_load(&call->daemon->operations->kept_count) < SN_RECORDINGS_MAX)
        return sn_recordings_let_in(call);
    sn_rest_header(call, "Retry-After", "5");
    sn_rest_problem(call, 429, "there are %u recordings: delete some", SN_RECORDINGS_MAX);
    return false;
}

static struct sn_upload *new_upload(struct sn_rest_call *call, uint64_t max, uint64_t announced)
{
    struct sn_upload *upload = calloc(1, sizeof(*upload));
    if (!upload)
        return NULL;
    atomic_init(&upload->reference_count, 1);
    upload->daemon = call->daemon;
    upload->fd = -1;
    upload->max = max;
    upload->is_announced = announced != UINT64_MAX;
    upload->promised = upload->is_announced ? announced : 0;
    atomic_fetch_add(&call->daemon->operations->upload_bytes, upload->promised);
    upload->filling = sn_buf_with_limit(FILLING_MAX);
    upload->writing = sn_buf_with_limit(FILLING_MAX);
    sn_upload_name(upload->name, sn_rest_text(call, "name"));
    return upload;
}

/* In the HTTP seat, when the head is there. */
void sn_upload_post(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    uint64_t max = 0;
    struct sn_http_exchange *exchange =
        sn_http_exchange_find(call->daemon->http, call->exchange_id);
    if (!exchange || !is_plain(call, exchange) || !is_welcome(call) ||
        !has_room(call, exchange, &max))
        return;
    struct sn_upload *upload = new_upload(call, max, sn_http_exchange_announced(exchange));
    if (!upload) {
        atomic_fetch_sub(&call->daemon->operations->upload_count, 1);
        sn_rest_problem(call, 503, "no memory");
        return;
    }
    if (open_file(upload, &err) != SONDE_OK) {
        release(upload);
        sn_rest_problem(call, 507, "%s", err.text);
        return;
    }
    upload->call = call;
    call->free_user = forget;
    sn_text_copy(call->about, sizeof(call->about), upload->name);
    sn_rest_park(call, client_left, upload);
    sn_http_exchange_take(
        exchange,
        &(struct sn_http_taker){.take = take, .whole = whole, .user = upload, .rate = RATE_MIN});
}
