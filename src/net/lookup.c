#include "net/lookup.h"

#include <nss.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/auxv.h>

#include "base/err.h"

/* A static executable has the sources "files" (/etc/hosts) and "dns" in it. Others that
 * /etc/nsswitch.conf may name would be loaded from this machine, with a C library that is not ours,
 * and may crash: they are not asked. Static is what no dynamic linker was loaded for. It changes
 * what all threads use: once, before the first of them looks anything up. */
static void ask_only_own_sources(void)
{
    if (!getauxval(AT_BASE))
        (void)__nss_configure_lookup("hosts", "files dns");
}

int sn_lookup(const struct sn_url *url, int flags, struct addrinfo **ret_list,
              struct sonde_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char port[8];
    struct addrinfo hints = {.ai_flags = AI_NUMERICSERV | flags,
                             .ai_socktype = url->scheme == SN_URL_UDP ? SOCK_DGRAM : SOCK_STREAM};
    (void)snprintf(port, sizeof(port), "%u", url->port);
    (void)pthread_once(&once, ask_only_own_sources);
    int failed = getaddrinfo(url->host[0] ? url->host : NULL, port, &hints, ret_list);
    if (failed == EAI_SYSTEM)
        return sn_fail_errno(err, "cannot look up %s", url->host);
    if (failed)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "cannot look up %s: %s", url->host,
                       gai_strerror(failed));
    return SONDE_OK;
}
