#include "daemon/problem.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"
#include "sonde/error.h"

static const struct {
    unsigned status;
    const char *title;
} titles[] = {
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {507, "Insufficient Storage"},
};

const char *sn_problem_title(unsigned status)
{
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++) {
        if (titles[i].status == status)
            return titles[i].title;
    }
    return "Error";
}

const char *sn_problem_of_disk(const struct sonde_error *err)
{
    switch (err->system_error) {
    case ENOSPC:
    case EDQUOT: return "make room on the disk of the state folder";
    case EROFS: return "see that the disk of the state folder can be written";
    default: return NULL;
    }
}

unsigned sn_problem_status(const struct sonde_error *err)
{
    if (sn_problem_of_disk(err))
        return 507;
    switch (err->status) {
    case SONDE_E_ARGUMENT:
    case SONDE_E_FORMAT: return 400;
    case SONDE_E_DENIED: return 403;
    case SONDE_E_NOT_FOUND: return 404;
    case SONDE_E_BUSY: return 409;
    case SONDE_E_GONE: return 410;
    case SONDE_E_LIMIT: return 429;
    case SONDE_E_UNSUPPORTED: return 501;
    case SONDE_E_REFUSED: return 502;
    case SONDE_E_NOMEM: return 503;
    case SONDE_E_TIMEOUT: return 504;
    default: return 500;
    }
}

void sn_problem_write(struct sn_buf *to, unsigned status, const char *detail, const char *member)
{
    char named[640];
    struct sn_json json = sn_json_to(to);
    (void)snprintf(named, sizeof(named), "%.100s: %s", member ? member : "", detail);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "type", "about:blank");
    sn_json_text(&json, "title",
                 member ? "One or more validation errors occurred." : sn_problem_title(status));
    sn_json_u64(&json, "status", status);
    sn_json_text(&json, "detail", member ? named : detail);
    if (member) {
        sn_json_object(&json, "errors");
        sn_json_array(&json, member);
        sn_json_text(&json, NULL, detail);
        sn_json_close(&json);
        sn_json_close(&json);
    }
    sn_json_close(&json);
}
