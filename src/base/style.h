/* How text looks on a terminal; the one list of styles. */
#ifndef SN_STYLE_H
#define SN_STYLE_H

enum sn_style {
    SN_STYLE_NONE,
    SN_STYLE_BOLD,
    SN_STYLE_DIM,
    SN_STYLE_GOOD,
    SN_STYLE_WARN,
    SN_STYLE_BAD,
};

/* The number between ESC [ and m; NULL for SN_STYLE_NONE. */
const char *sn_style_code(enum sn_style style);

#endif
