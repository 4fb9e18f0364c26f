#include "base/style.h"

#include <stddef.h>

const char *sn_style_code(enum sn_style style)
{
    switch (style) {
    case SN_STYLE_BOLD: return "1";
    case SN_STYLE_DIM: return "2";
    case SN_STYLE_GOOD: return "32";
    case SN_STYLE_WARN: return "33";
    case SN_STYLE_BAD: return "31";
    default: return NULL;
    }
}
