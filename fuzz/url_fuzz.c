/* Any text as the address of a receiver, or as a place to listen: taken or refused with a reason;
 * what was taken has nothing in it that would break out of a request. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "net/url.h"

static void check_taken(const struct sn_url *url)
{
    char authority[272];
    bool is_http = url->scheme == SN_URL_HTTP || url->scheme == SN_URL_HTTPS;
    if (strlen(sn_url_authority(url, authority)) < strlen(url->host))
        abort();
    if (url->scheme == SN_URL_UNIX ? url->path[0] != '/' || url->host[0]
                                   : !url->host[0] || !url->port)
        abort();
    if (is_http && url->path[0] != '/')
        abort();
    for (const char *at = is_http ? url->path : url->host; *at; at++) {
        if (*at <= ' ' || *at > '~')
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_url url;
    struct sonde_error err = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    int rc = sn_url_parse(text, &url, &err);
    if (rc == SONDE_OK)
        check_taken(&url);
    else if (rc != SONDE_E_ARGUMENT || !err.text[0])
        abort();
    err = (struct sonde_error){0};
    rc = sn_url_parse_listen(text, &url, &err);
    if (rc != SONDE_OK && (rc != SONDE_E_ARGUMENT || !err.text[0]))
        abort();
    free(text);
    return 0;
}
