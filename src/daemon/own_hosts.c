#include "daemon/own_hosts.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"

/* Without port and brackets; false: it is not "host" or "host:port". */
static bool host_of(const char *text, char to[256])
{
    size_t size = *text == '[' ? strcspn(text, "]") : strcspn(text, ":");
    const char *from = text;
    const char *rest = text + size;
    if (*text == '[') {
        if (*rest != ']')
            return false;
        from++;
        rest++;
        size--;
    }
    if (size >= 256 || (*rest && *rest != ':') ||
        (*rest == ':' && rest[1 + strspn(rest + 1, "0123456789")]))
        return false;
    memcpy(to, from, size);
    to[size] = '\0';
    return true;
}

bool sn_own_hosts_is_loopback(const char *name)
{
    struct in_addr four;
    struct in6_addr six;
    if (strcasecmp(name, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, name, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, name, &six) != 1)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

bool sn_own_hosts_is_number(const char *name)
{
    struct in6_addr any;
    return inet_pton(AF_INET, name, &any) == 1 || inet_pton(AF_INET6, name, &any) == 1;
}

static bool is_every_address(const char *name)
{
    return !*name || strcmp(name, "0.0.0.0") == 0 || strcmp(name, "::") == 0 ||
           strcmp(name, "*") == 0 || strcmp(name, "+") == 0;
}

static const struct sn_own_host *find(const struct sn_own_hosts *hosts, const char *name)
{
    for (size_t i = 0; i < hosts->count; i++) {
        if (strcasecmp(hosts->hosts[i].name, name) == 0)
            return &hosts->hosts[i];
    }
    return NULL;
}

static int append(struct sn_own_hosts *hosts, const char *name, bool is_public,
                  struct sonde_error *err)
{
    if (find(hosts, name))
        return SONDE_OK;
    if (hosts->count == SN_OWN_HOSTS_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u host names", SN_OWN_HOSTS_MAX);
    struct sn_own_host *host = &hosts->hosts[hosts->count++];
    (void)snprintf(host->name, sizeof(host->name), "%s", name);
    host->is_public = is_public;
    return SONDE_OK;
}

int sn_own_hosts_add(struct sn_own_hosts *hosts, const char *text, bool is_public,
                     struct sonde_error *err)
{
    char name[256];
    if (!host_of(text, name))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%.100s' is no host name", text);
    if (!is_every_address(name))
        return append(hosts, name, is_public, err);
    hosts->is_any_address = true;
    if (gethostname(name, sizeof(name)) != 0)
        return SONDE_OK;
    name[sizeof(name) - 1] = '\0';
    return append(hosts, name, false, err);
}

bool sn_own_hosts_has(const struct sn_own_hosts *hosts, const char *host)
{
    char name[256];
    if (!host || !host_of(host, name) || !*name)
        return false;
    return sn_own_hosts_is_loopback(name) || find(hosts, name) ||
           (hosts->is_any_address && sn_own_hosts_is_number(name));
}

/* What follows "http://" or "https://", to the end: an origin has no path. */
static const char *authority_of(const char *origin)
{
    if (strncasecmp(origin, "http://", 7) == 0)
        return origin + 7;
    return strncasecmp(origin, "https://", 8) == 0 ? origin + 8 : NULL;
}

bool sn_own_hosts_has_origin(const struct sn_own_hosts *hosts, const char *origin, const char *host)
{
    char name[256];
    const char *authority = authority_of(origin);
    if (!authority || !*authority || !host_of(authority, name))
        return false;
    if (host && strcasecmp(authority, host) == 0)
        return true;
    const struct sn_own_host *own = find(hosts, name);
    return own && own->is_public;
}

const char *sn_own_hosts_shown(const char *url, char to[SN_OWN_HOSTS_SHOWN])
{
    char name[256] = "";
    const char *authority = authority_of(url);
    if (!authority || !host_of(authority, name) || !is_every_address(name))
        return url;
    const char *port = strrchr(authority, ':');
    if (gethostname(name, sizeof(name)) != 0 || !*name)
        (void)snprintf(name, sizeof(name), "localhost");
    name[sizeof(name) - 1] = '\0';
    (void)snprintf(to, SN_OWN_HOSTS_SHOWN, "%.*s%s%s", (int)(authority - url), url, name,
                   port ? port : "");
    return to;
}
