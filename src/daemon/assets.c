/* /, /assets/FILE, /speedscope/: the page, from the program itself. */
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "daemon/daemon.h"
#include "daemon/embedded.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"
#include "net/http_server.h"

#define PLAIN_MAX (8u << 20)

/* Nothing but our own files, and none that a hostile name could write into the page. */
static const char page_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

/* speedscope writes its styles by script, has a font, and a decoder in WebAssembly. */
static const char speedscope_policy[] =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src 'self' data:; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

static const struct sn_page_file *find_file(const char *folder, const char *name)
{
    size_t size = strlen(folder);
    for (const struct sn_page_file *file = sn_page_files; file->name; file++) {
        if (strncmp(file->name, folder, size) == 0 && strcmp(file->name + size, name) == 0)
            return file;
    }
    return NULL;
}

/* --- what the client has and takes --- */

static const char *asked(const struct sn_rest_call *call, const char *header)
{
    struct sn_http_exchange *exchange =
        sn_http_exchange_find(call->daemon->http, call->exchange_id);
    const char *value = exchange ? sn_http_exchange_header(exchange, header) : NULL;
    return value ? value : "";
}

/* Tags are compared by what they hold: a proxy that packs or unpacks rewrites what is around it. */
static bool has_already(const struct sn_rest_call *call, const struct sn_page_file *file)
{
    return strstr(asked(call, "If-None-Match"), file->tag) != NULL;
}

/* --- the answer --- */

static bool unpack(const struct sn_page_file *file, struct sn_buf *to)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)(sn_page_blob + file->offset),
                       .avail_in = (uInt)file->size};
    if (!file->plain_size)
        return true;
    uint8_t *at = file->plain_size <= PLAIN_MAX ? sn_buf_reserve(to, file->plain_size) : NULL;
    if (!at || inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) /* + 16: gzip's frame around it */
        return false;
    stream.next_out = at;
    stream.avail_out = (uInt)file->plain_size;
    bool is_whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && !stream.avail_out;
    (void)inflateEnd(&stream);
    sn_buf_grow(to, is_whole ? file->plain_size : 0);
    return is_whole;
}

/* Names that hold a hash of the content never mean anything else. */
static bool is_for_ever(const struct sn_page_file *file)
{
    const char *dash = strrchr(file->name, '-');
    return dash && strspn(dash + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == 8;
}

static void put_headers(struct sn_rest_call *call, const struct sn_page_file *file,
                        const char *policy)
{
    sn_rest_header(call, "Content-Security-Policy", "%s", policy);
    sn_rest_header(call, "ETag", "W/\"%s\"", file->tag);
    sn_rest_header(call, "Cache-Control", "%s",
                   is_for_ever(file) ? "public, max-age=31536000, immutable" : "no-cache");
    sn_rest_header(call, "Vary", "Accept-Encoding");
}

/* A failure is sent without what would let it be kept. */
static void put_file(struct sn_rest_call *call, const struct sn_page_file *file, const char *policy)
{
    call->content_type = file->type;
    if (has_already(call, file)) {
        call->status = 304;
    } else if (sn_rest_lists(asked(call, "Accept-Encoding"), "gzip")) {
        sn_rest_header(call, "Content-Encoding", "gzip");
        sn_buf_append(&call->out, sn_page_blob + file->offset, file->size);
    } else if (!unpack(file, &call->out)) {
        sn_rest_problem(call, 503, "no memory to unpack the file; ask for gzip");
        return;
    }
    put_headers(call, file, policy);
}

/* The page's links are relative to its folder, so its address must end as a folder's. True: the
 * client was sent there. */
static bool is_sent_on(struct sn_rest_call *call)
{
    struct sn_http_exchange *exchange =
        sn_http_exchange_find(call->daemon->http, call->exchange_id);
    const char *path = exchange ? sn_http_exchange_path(exchange) : "/";
    const char *slash = strrchr(path, '/');
    if (!slash || !slash[1])
        return false;
    call->status = 308;
    sn_rest_header(call, "Location", "%s/", slash + 1);
    return true;
}

static void put_page(struct sn_rest_call *call, const char *name, const char *policy)
{
    const struct sn_page_file *file = find_file("", name);
    if (is_sent_on(call))
        return;
    if (file)
        put_file(call, file, policy);
}

static void get_page(struct sn_rest_call *call)
{
    put_page(call, "index.html", page_policy);
}

static void get_speedscope(struct sn_rest_call *call)
{
    put_page(call, "speedscope/index.html", speedscope_policy);
}

static void put_named(struct sn_rest_call *call, const char *folder, const char *policy)
{
    const struct sn_page_file *file = find_file(folder, sn_rest_text(call, "file"));
    if (file)
        put_file(call, file, policy);
    else
        sn_rest_problem(call, 404, "the page has no such file; load it again");
}

static void get_asset(struct sn_rest_call *call)
{
    put_named(call, "assets/", page_policy);
}

static void get_speedscope_file(struct sn_rest_call *call)
{
    put_named(call, "speedscope/", speedscope_policy);
}

/* --- routes --- */

static const struct sn_response page_responses[] = {
    {200, "text/html", NULL, "the page"},
    {304, "", NULL, "the client has it already"},
    {308, "", NULL, "its address ends with a slash"},
    {.status = 0},
};

#define FILE_TYPES                                                                        \
    "text/javascript,text/css,text/html,text/plain,image/svg+xml,image/png,image/x-icon," \
    "font/woff2"
static const struct sn_response file_responses[] = {
    {200, FILE_TYPES, NULL, "the file"},
    {304, "", NULL, "the client has it already"},
    {404, "application/problem+json", "Problem", "the page has no such file"},
    {.status = 0},
};

static const struct sn_parameter file_parameters[] = {
    {.name = "file", .summary = "its name", .is_required = true},
    {.name = NULL},
};

#define PAGE_ROUTE(at, get, what)                                                  \
    {                                                                              \
        .method = "GET", .path = (at), .resource = "page", .scope = SN_SCOPE_NONE, \
        .responses = page_responses, .summary = (what), .handle = (get)            \
    }
#define FILE_ROUTE(at, get, what)                                                      \
    {                                                                                  \
        .method = "GET", .path = (at), .resource = "page", .scope = SN_SCOPE_NONE,     \
        .parameters = file_parameters, .responses = file_responses, .summary = (what), \
        .handle = (get)                                                                \
    }

const struct sn_route sn_assets_routes[] = {
    PAGE_ROUTE("/", get_page, "a page for people"),
    FILE_ROUTE("/assets/{file}", get_asset, "a file of the page"),
    PAGE_ROUTE("/speedscope", get_speedscope, "speedscope, a viewer of profiles"),
    FILE_ROUTE("/speedscope/{file}", get_speedscope_file, "a file of speedscope"),
    {.method = NULL},
};
