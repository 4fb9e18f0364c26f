/* Whether the head of a request is one that everybody reads alike.
 *
 * libmicrohttpd is lenient: it takes bare line feeds for line ends, zeros for ends of texts, joins
 * folded lines, skips spaces. What is in front of us (a proxy, a cache) may see other requests in
 * the same bytes than it does. It parses where the bytes lie, and says how many there were: so we
 * hold every one of them to account. Strings that stand one behind the other with just the two
 * bytes of a line end between them, up to the last byte, were written as they are read. But for
 * one: a zero and a line feed cannot be told from a line end, as libmicrohttpd leaves zeros for
 * both. The lines are the same with it. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/http_parts.h"
#include "net/http_path.h"

/* While the lines are walked. */
struct walk {
    const char *next; /* where the next line must begin */
    size_t count;
    unsigned length_count; /* Content-Length */
    unsigned coding_count; /* Transfer-Encoding */
    unsigned host_count;
    const char *length;
    const char *coding;
    bool is_bad;
};

static bool is_token(const char *text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    if (!*text)
        return false;
    for (const char *at = text; *at; at++) {
        char lower = (char)(*at | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(*at >= '0' && *at <= '9') && !strchr(others, *at))
            return false;
    }
    return true;
}

/* Tabs aside, no controls: a bare carriage return is one. */
static bool is_field_value(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if ((*at < 0x20 && *at != '\t') || *at == 0x7f)
            return false;
    }
    return true;
}

static void take_known(struct walk *walk, const char *name, const char *value)
{
    if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
        walk->length_count++;
        walk->length = value;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        walk->coding_count++;
        walk->coding = value;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0)
        walk->host_count++;
}

static enum MHD_Result take_header(void *user, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct walk *walk = user;
    (void)kind;
    walk->count++;
    if (!name || !value || name != walk->next || value < name || !is_token(name) ||
        !is_field_value(value)) {
        walk->is_bad = true;
        return MHD_NO;
    }
    walk->next = value + strlen(value) + 2;
    take_known(walk, name, value);
    return MHD_YES;
}

static bool is_decimal(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 19;
}

static uint64_t length_in(const struct walk *walk)
{
    if (walk->coding_count)
        return UINT64_MAX;
    return walk->length_count ? strtoull(walk->length, NULL, 10) : 0;
}

/* What the lengths say, or do not. */
static unsigned check_framing(const struct sn_http_exchange *exchange, const struct walk *walk,
                              const char **ret_why)
{
    bool is_old = strcmp(exchange->version, MHD_HTTP_VERSION_1_1) != 0;
    *ret_why = "its length is ambiguous";
    if (walk->length_count > 1 || walk->coding_count > 1 ||
        (walk->length_count && walk->coding_count) || (walk->coding_count && is_old))
        return MHD_HTTP_BAD_REQUEST;
    if (walk->length_count && !is_decimal(walk->length))
        return MHD_HTTP_BAD_REQUEST;
    *ret_why = "only the transfer encoding chunked is known";
    if (walk->coding_count && strcasecmp(walk->coding, "chunked") != 0)
        return MHD_HTTP_NOT_IMPLEMENTED;
    *ret_why = "it must name one host";
    if (walk->host_count > 1 || (!walk->host_count && !is_old))
        return MHD_HTTP_BAD_REQUEST;
    return 0;
}

/* One that goes elsewhere as it comes may be as large as it likes, as far as we care. */
static unsigned check_size(struct sn_http_exchange *exchange, const char **ret_why)
{
    const struct sn_http_server *server = exchange->link->spot->server;
    exchange->is_early = server->is_early && server->is_early(server->user, exchange);
    *ret_why = "its body is too large";
    if (!exchange->is_early && exchange->announced != UINT64_MAX &&
        exchange->announced > server->limits.body_max)
        return MHD_HTTP_CONTENT_TOO_LARGE;
    return 0;
}

unsigned sn_http_head_check(struct sn_http_exchange *exchange, const char **ret_why)
{
    const struct sn_http_limits *limits = &exchange->link->spot->server->limits;
    struct walk walk = {.next = exchange->version + strlen(exchange->version) + 2};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    int count = MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, NULL, NULL);
    *ret_why = "its head is too large";
    if (!info || info->header_size > limits->head_max || count < 0 ||
        (unsigned)count > limits->header_max)
        return MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
    *ret_why = "its head is malformed";
    if (!exchange->uri || !is_token(exchange->method) ||
        exchange->uri != exchange->method + strlen(exchange->method) + 1 ||
        exchange->version != exchange->uri + exchange->uri_size + 1)
        return MHD_HTTP_BAD_REQUEST;
    (void)MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, take_header, &walk);
    if (walk.is_bad || walk.next + 2 != exchange->method + info->header_size)
        return MHD_HTTP_BAD_REQUEST;
    *ret_why = "its path is malformed";
    if (!sn_http_path_split(exchange->path, &exchange->query))
        return MHD_HTTP_BAD_REQUEST;
    unsigned status = check_framing(exchange, &walk, ret_why);
    if (status)
        return status;
    exchange->announced = length_in(&walk);
    return check_size(exchange, ret_why);
}
