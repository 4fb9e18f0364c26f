/* Files that are part of the program: the page's, packed (cmake/page.cmake), and the schemas of the
 * API (cmake/embed_files.cmake). */
#ifndef SN_EMBEDDED_H
#define SN_EMBEDDED_H

#include <stddef.h>
#include <stdint.h>

struct sn_embedded {
    const char *name;
    const uint8_t *bytes;
    size_t size;
};

/* Ended by one without a name. */
extern const struct sn_embedded sn_embedded_files[];

/* A file of the page, as gzip. */
struct sn_page_file {
    const char *name; /* "assets/app.js" */
    const char *type; /* "text/javascript; charset=utf-8" */
    const char *tag;  /* of its content, in hexadecimal */
    size_t offset;    /* of sn_page_blob */
    size_t size;
    size_t plain_size; /* unpacked */
};

/* Ended by one without a name. */
extern const struct sn_page_file sn_page_files[];
extern const uint8_t sn_page_blob[];

#endif
