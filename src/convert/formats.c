#include "convert/formats.h"

#include <stddef.h>
#include <string.h>

const struct sn_format sn_formats[] = {
    {0},
};

const struct sn_format *sn_format_find(const char *name)
{
    for (const struct sn_format *format = sn_formats; format->name; format++) {
        if (strcmp(format->name, name) == 0)
            return format;
    }
    return NULL;
}
