/* Who is at the other end of an exchange: an address, a process of this machine, a certificate. */
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/http_parts.h"

static void write_address(const struct sockaddr *address, char to[SN_HTTP_PEER_SIZE])
{
    char text[INET6_ADDRSTRLEN] = "";
    bool is_six = address->sa_family == AF_INET6;
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    const void *number = is_six ? (const void *)&six->sin6_addr : &four->sin_addr;
    (void)inet_ntop(address->sa_family, number, text, sizeof(text));
    (void)snprintf(to, SN_HTTP_PEER_SIZE, is_six ? "[%s]:%u" : "%s:%u", text,
                   ntohs(is_six ? six->sin6_port : four->sin_port));
}

const char *sn_http_exchange_peer(struct sn_http_exchange *exchange)
{
    if (exchange->link->spot->is_unix)
        return "unix";
    if (!exchange->peer[0]) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        if (info && info->client_addr)
            write_address(info->client_addr, exchange->peer);
    }
    return exchange->peer;
}

bool sn_http_exchange_credentials(const struct sn_http_exchange *exchange, pid_t *ret_pid,
                                  uid_t *ret_uid)
{
    struct ucred who = {0};
    socklen_t size = sizeof(who);
    if (!exchange->link->spot->is_unix || /* elsewhere the kernel answers too: with nobody */
        getsockopt(exchange->link->fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        return false;
    *ret_pid = who.pid;
    *ret_uid = who.uid;
    return true;
}

/* libmicrohttpd asks for a certificate, and goes on without one or with any. */
static bool is_vouched_for(gnutls_session_t session)
{
    static char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
    gnutls_typed_vdata_st wanted = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                    .data = (unsigned char *)purpose};
    unsigned status = 0;
    return gnutls_certificate_verify_peers(session, &wanted, 1, &status) == 0 && status == 0;
}

/* Its common name, or all of its name. */
static char *name_in(gnutls_session_t session)
{
    unsigned count = 0;
    gnutls_x509_crt_t certificate = NULL;
    const gnutls_datum_t *list = gnutls_certificate_get_peers(session, &count);
    if (!list || !count || gnutls_x509_crt_init(&certificate) != 0)
        return NULL;
    char name[256] = "";
    size_t size = sizeof(name);
    bool is_read = gnutls_x509_crt_import(certificate, &list[0], GNUTLS_X509_FMT_DER) == 0;
    if (is_read && gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                                 name, &size) != 0) {
        size = sizeof(name);
        is_read = gnutls_x509_crt_get_dn(certificate, name, &size) == 0;
    }
    gnutls_x509_crt_deinit(certificate);
    return is_read && strlen(name) == size ? strdup(name) : NULL;
}

const char *sn_http_exchange_client_name(struct sn_http_exchange *exchange)
{
    if (exchange->is_name_known || !exchange->link->spot->has_authorities)
        return exchange->client_name;
    exchange->is_name_known = true;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info && info->tls_session && is_vouched_for(info->tls_session))
        exchange->client_name = name_in(info->tls_session);
    return exchange->client_name;
}
