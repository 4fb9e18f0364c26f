#include "convert/formats.h"

#include <stddef.h>
#include <string.h>

#include "convert/html.h"
#include "convert/writers.h"

const struct sn_format sn_formats[] = {
    {"speedscope", "speedscope.json", "flame graph and timeline, https://www.speedscope.app",
     sn_speedscope_write},
    {"pprof", "pb.gz", "every column of the profile, for 'go tool pprof'", sn_pprof_write},
    {"chrome", "chrome.json", "timeline, https://ui.perfetto.dev or chrome://tracing",
     sn_chrome_write},
    {"collapsed", "folded", "one line a stack, for flamegraph.pl and the like", sn_collapsed_write},
    {"html", "html", "one page with an interactive flame graph, needs nothing else", sn_html_write},
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
