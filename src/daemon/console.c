/* /, /console.js, /console.css: the controller's own small page. */
#include <string.h>

#include "base/buf.h"
#include "daemon/embedded.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"

static void put_file(struct sn_rest_call *call, const char *name, const char *type)
{
    call->content_type = type;
    for (const struct sn_embedded *file = sn_embedded_files; file->name; file++) {
        if (strcmp(file->name, name) == 0)
            sn_buf_append(&call->out, file->bytes, file->size);
    }
}

static void get_page(struct sn_rest_call *call)
{
    put_file(call, "console.html", "text/html; charset=utf-8");
}

static void get_script(struct sn_rest_call *call)
{
    put_file(call, "console.js", "text/javascript; charset=utf-8");
}

static void get_style(struct sn_rest_call *call)
{
    put_file(call, "console.css", "text/css; charset=utf-8");
}

#define FILE_ROUTE(at, get, what, responses_)                                               \
    {                                                                                       \
        .method = "GET", .path = (at), .resource = "console", .scope = SN_SCOPE_NONE,       \
        .seat = SN_SEAT_HTTP, .responses = (responses_), .summary = (what), .handle = (get) \
    }

static const struct sn_response page_responses[] = {{200, "text/html", NULL, "the page"},
                                                    {.status = 0}};
static const struct sn_response script_responses[] = {{200, "text/javascript", NULL, "its script"},
                                                      {.status = 0}};
static const struct sn_response style_responses[] = {{200, "text/css", NULL, "its style"},
                                                     {.status = 0}};

const struct sn_route sn_console_routes[] = {
    FILE_ROUTE("/", get_page, "a page for people", page_responses),
    FILE_ROUTE("/console.js", get_script, "the page's script", script_responses),
    FILE_ROUTE("/console.css", get_style, "the page's style", style_responses),
    {.method = NULL},
};
