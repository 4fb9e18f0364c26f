/* A small HTTP server for pages that are made when they are asked for, driven by its owner's poll
 * loop: wait until its descriptor is readable or its time has passed, then turn. Bounded: 64
 * connections, 96 MB of pages that are being read (503 beyond), a minute for reading one; who asks
 * the same within a tenth of a second gets the same page. One thread. */
#ifndef SN_PAGE_SERVER_H
#define SN_PAGE_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sonde/error.h"

struct sn_page_server;

struct sn_page_request {
    const char *method; /* "GET" */
    const char *path;   /* without the query */
    const char *accept; /* the header, or "" */
};

/* Filled in by the handler. */
struct sn_page_response {
    unsigned status;          /* 200 */
    const char *content_type; /* borrowed until the handler's next call */
    struct sn_buf *body;      /* the server's; append to it */
};

typedef void sn_page_handler_fn(void *user, const struct sn_page_request *request,
                                struct sn_page_response *response);

/* `address`: "host:port", "[::1]:port", ":port" (every address); port 0 takes a free one. */
int sn_page_server_new(const char *address, sn_page_handler_fn *handle, void *user,
                       struct sn_page_server **ret_server, struct sonde_error *err);
void sn_page_server_free(struct sn_page_server *server);

/* "http://127.0.0.1:9464": where it listens. Borrowed. */
const char *sn_page_server_url(const struct sn_page_server *server);

int sn_page_server_fd(const struct sn_page_server *server);
int sn_page_server_wait_ms(const struct sn_page_server *server); /* -1: for ever */
int sn_page_server_turn(struct sn_page_server *server, struct sonde_error *err);

#endif
