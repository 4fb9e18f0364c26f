/* Files that are part of the program: the console's page, the schemas of the API. Written by
 * cmake/embed_files.cmake. */
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

#endif
