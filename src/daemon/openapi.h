/* The API as an OpenAPI 3.1 document, made of the routes' own tables. No state. */
#ifndef SN_OPENAPI_H
#define SN_OPENAPI_H

struct sn_buf;
struct sn_daemon;

/* Of what this controller serves: what is switched off is left out. */
void sn_openapi_write(const struct sn_daemon *daemon, struct sn_buf *to);

#endif
