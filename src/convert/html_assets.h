/* What every page carries: web/flame, put into the program by cmake/embed.cmake. */
#ifndef SN_HTML_ASSETS_H
#define SN_HTML_ASSETS_H

#include <stddef.h>
#include <stdint.h>

struct sn_html_asset {
    const char *hash; /* "sha256-...": by which a page's policy admits it */
    const uint8_t *bytes;
    size_t size;
};

extern const struct sn_html_asset sn_html_script;
extern const struct sn_html_asset sn_html_style;

#endif
