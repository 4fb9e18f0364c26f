/* Requests as access looks at them: the one place where it meets the server. */
#include "daemon/access.h"

#include "net/http_server.h"

void sn_access_see(struct sn_http_exchange *exchange, struct sn_visit *ret_visit)
{
    pid_t pid;
    struct sn_visit visit = {
        .method = sn_http_exchange_method(exchange),
        .query = sn_http_exchange_query(exchange),
        .host = sn_http_exchange_header(exchange, "Host"),
        .origin = sn_http_exchange_header(exchange, "Origin"),
        .fetch_site = sn_http_exchange_header(exchange, "Sec-Fetch-Site"),
        .authorization = sn_http_exchange_header(exchange, "Authorization"),
        .cookie = sn_http_exchange_header(exchange, "Cookie"),
        .content_type = sn_http_exchange_header(exchange, "Content-Type"),
        .tag = sn_http_exchange_tag(exchange),
        .peer = sn_http_exchange_peer(exchange),
        .client_name = sn_http_exchange_client_name(exchange),
    };
    (void)sn_http_exchange_body(exchange, &visit.body_size);
    visit.is_local = sn_http_exchange_credentials(exchange, &pid, &visit.uid);
    *ret_visit = visit;
}

void sn_access_identify(struct sn_access *access, struct sn_http_exchange *exchange,
                        struct sn_identity *ret_who, const char **ret_why)
{
    struct sn_visit visit;
    sn_access_see(exchange, &visit);
    sn_access_who(access, &visit, ret_who, ret_why);
}

unsigned sn_access_refuses(struct sn_access *access, struct sn_http_exchange *exchange,
                           const char **ret_why)
{
    struct sn_visit visit;
    sn_access_see(exchange, &visit);
    return sn_access_judge(access, &visit, ret_why);
}
