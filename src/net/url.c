#include "net/url.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/err.h"

#define UNIX_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

struct scheme {
    const char *prefix;
    enum sn_url_scheme scheme;
    uint16_t port; /* unless told; 0: it must be told */
};

static const struct scheme schemes[] = {
    {"tcp://", SN_URL_TCP, 0},    {"udp://", SN_URL_UDP, 0},       {"unix://", SN_URL_UNIX, 0},
    {"http://", SN_URL_HTTP, 80}, {"https://", SN_URL_HTTPS, 443},
};

static const struct scheme *find_scheme(const char *text)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (strncmp(text, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
            return &schemes[i];
    }
    return NULL;
}

static bool is_host_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
}

static int copy_host(struct sn_url *url, const char *from, size_t size, struct sonde_error *err)
{
    if (size >= sizeof(url->host))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the host is longer than %zu characters",
                       sizeof(url->host) - 1);
    memcpy(url->host, from, size);
    url->host[size] = '\0';
    return SONDE_OK;
}

/* "[::1]" up to its bracket; returns what follows in `ret_rest`. */
static int parse_bracketed(struct sn_url *url, const char *text, const char **ret_rest,
                           struct sonde_error *err)
{
    struct in6_addr address;
    const char *close = strchr(text, ']');
    if (!close)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a bracket is not closed; as in [::1]");
    int rc = copy_host(url, text + 1, (size_t)(close - text - 1), err);
    if (rc != SONDE_OK)
        return rc;
    if (inet_pton(AF_INET6, url->host, &address) != 1)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "what is in brackets is no IPv6 address");
    *ret_rest = close + 1;
    return SONDE_OK;
}

static int parse_host(struct sn_url *url, const char *text, const char **ret_rest,
                      struct sonde_error *err)
{
    size_t size = 0;
    if (*text == '[')
        return parse_bracketed(url, text, ret_rest, err);
    while (is_host_character(text[size]))
        size++;
    *ret_rest = text + size;
    return copy_host(url, text, size, err);
}

/* ":2003"; without one what is there stays. */
static int parse_port(struct sn_url *url, const char **rest, struct sonde_error *err)
{
    const char *at = *rest;
    uint32_t port = 0;
    if (*at != ':')
        return SONDE_OK;
    const char *first = ++at;
    for (; *at >= '0' && *at <= '9' && port <= UINT16_MAX; at++)
        port = port * 10 + (uint32_t)(*at - '0');
    if (at == first || port > UINT16_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the port is no number from 0 to 65535");
    url->port = (uint16_t)port;
    *rest = at;
    return SONDE_OK;
}

static int parse_http_path(struct sn_url *url, const char *text, struct sonde_error *err)
{
    size_t size = strlen(text);
    if (*text && *text != '/' && *text != '?')
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "after the host comes :PORT, /PATH or nothing, not '%.1s'; a user and "
                       "password are given in a header",
                       text);
    for (size_t i = 0; i < size; i++) {
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '#')
            return sn_fail(err, SONDE_E_ARGUMENT, 0,
                           "the path holds a character that a URL does not have; write it as %%XX");
    }
    if (size + 1 >= sizeof(url->path))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the path is too long");
    (void)snprintf(url->path, sizeof(url->path), "%s%s", *text == '/' ? "" : "/", text);
    return SONDE_OK;
}

static int parse_unix(struct sn_url *url, const char *text, struct sonde_error *err)
{
    if (*text != '/' || !text[1])
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "the path of a socket starts at the root, as in unix:///run/x.sock");
    if (strlen(text) > UNIX_PATH_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the path of a socket has at most %zu characters",
                       UNIX_PATH_MAX);
    (void)snprintf(url->path, sizeof(url->path), "%s", text);
    return SONDE_OK;
}

static int parse_after_scheme(const struct scheme *scheme, const char *text, struct sn_url *url,
                              struct sonde_error *err)
{
    const char *rest = text;
    if (scheme->scheme == SN_URL_UNIX)
        return parse_unix(url, text, err);
    int rc = parse_host(url, text, &rest, err);
    if (rc == SONDE_OK && !url->host[0])
        rc = sn_fail(err, SONDE_E_ARGUMENT, 0, "there is no host in it");
    if (rc == SONDE_OK)
        rc = parse_port(url, &rest, err);
    if (rc != SONDE_OK)
        return rc;
    if (scheme->port && url->port)
        return parse_http_path(url, rest, err);
    if (*rest || !url->port)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "it must end with a host and a port, as in %shost:2003", scheme->prefix);
    return SONDE_OK;
}

const char *sn_url_shown(const char *text, char to[160])
{
    size_t size = strcspn(text, "?");
    bool has_query = text[size] == '?';
    (void)snprintf(to, 160, "%.*s%s", size < 140 ? (int)size : 140, text, has_query ? "?..." : "");
    return to;
}

int sn_url_parse(const char *text, struct sn_url *ret_url, struct sonde_error *err)
{
    const struct scheme *scheme = find_scheme(text);
    struct sonde_error cause = {0};
    char prefix[164];
    char shown[160];
    if (!scheme)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "'%s' is no address of a receiver: it starts with tcp://, udp://, "
                       "unix://, http:// or https://",
                       sn_url_shown(text, shown));
    struct sn_url url = {.scheme = scheme->scheme, .port = scheme->port};
    int rc = parse_after_scheme(scheme, text + strlen(scheme->prefix), &url, &cause);
    if (rc != SONDE_OK) {
        (void)snprintf(prefix, sizeof(prefix), "'%s'", sn_url_shown(text, shown));
        return sn_fail_because(err, &cause, prefix);
    }
    *ret_url = url;
    return SONDE_OK;
}

const char *sn_url_authority(const struct sn_url *url, char to[272])
{
    bool has_colon = strchr(url->host, ':') != NULL;
    bool is_default = (url->scheme == SN_URL_HTTP && url->port == 80) ||
                      (url->scheme == SN_URL_HTTPS && url->port == 443);
    int size = snprintf(to, 272, "%s%s%s", has_colon ? "[" : "", url->host, has_colon ? "]" : "");
    if (!is_default)
        (void)snprintf(to + size, 272 - (size_t)size, ":%u", url->port);
    return to;
}

int sn_url_parse_listen(const char *text, struct sn_url *ret_url, struct sonde_error *err)
{
    struct sn_url url = {.scheme = SN_URL_TCP};
    struct sonde_error cause = {0};
    const char *rest = text;
    char prefix[160];
    int rc = parse_host(&url, text, &rest, &cause);
    bool has_port = rc == SONDE_OK && *rest == ':';
    if (rc == SONDE_OK)
        rc = parse_port(&url, &rest, &cause);
    if (rc == SONDE_OK && (*rest || !has_port))
        rc = sn_fail(&cause, SONDE_E_ARGUMENT, 0,
                     "where to listen is HOST:PORT, [ADDRESS]:PORT or :PORT");
    if (rc != SONDE_OK) {
        (void)snprintf(prefix, sizeof(prefix), "'%.140s'", text);
        return sn_fail_because(err, &cause, prefix);
    }
    *ret_url = url;
    return SONDE_OK;
}
