#include "sink/aggregate/request_bridge.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"
#include "sink/aggregate/event_fields.h"

#define TEXT_LIMIT 4096u /* SN_EVENT_TEXT_MAX characters, whatever they are */

enum { OPCODE_START = 1, OPCODE_STOP = 2 };

static struct sn_buf *const *texts_of(struct sn_request_bridge *bridge, struct sn_buf *texts[6])
{
    texts[0] = &bridge->method;
    texts[1] = &bridge->path;
    texts[2] = &bridge->route;
    texts[3] = &bridge->host;
    texts[4] = &bridge->key;
    texts[5] = &bridge->value;
    return texts;
}

void sn_request_bridge_init(struct sn_request_bridge *bridge)
{
    struct sn_buf *texts[6];
    *bridge = (struct sn_request_bridge){0};
    texts_of(bridge, texts);
    for (size_t i = 0; i < 6; i++)
        *texts[i] = sn_buf_with_limit(TEXT_LIMIT);
}

void sn_request_bridge_done(struct sn_request_bridge *bridge)
{
    struct sn_buf *texts[6];
    texts_of(bridge, texts);
    for (size_t i = 0; i < 6; i++)
        sn_buf_done(texts[i]);
}

static void reset(struct sn_request_bridge *bridge)
{
    struct sn_buf *texts[6];
    texts_of(bridge, texts);
    for (size_t i = 0; i < 6; i++)
        sn_buf_clear(texts[i]);
    bridge->has_duration = false;
    bridge->duration_ns = 0;
    bridge->status = 0;
}

/* --- what a pair says --- */

static uint32_t to_status(const char *text)
{
    uint64_t status;
    return sn_text_to_u64(text, 999, &status) ? (uint32_t)status : 0;
}

/* "http://host:80/path?query" gives host and path. */
static void take_url(struct sn_request_bridge *bridge, const char *url)
{
    const char *host = strstr(url, "://");
    if (!host)
        return;
    host += 3;
    size_t size = strcspn(host, "/?#");
    sn_buf_clear(&bridge->host);
    sn_buf_append(&bridge->host, host, size);
    sn_buf_clear(&bridge->path);
    sn_buf_text(&bridge->path, host + size);
}

static void take_pair(struct sn_request_bridge *bridge, const char *key, const char *value)
{
    static const struct {
        const char *key;
        size_t text; /* offset of the text it goes to */
    } texts[] = {
        {"Method", offsetof(struct sn_request_bridge, method)},
        {"http.request.method", offsetof(struct sn_request_bridge, method)},
        {"http.method", offsetof(struct sn_request_bridge, method)},
        {"Path", offsetof(struct sn_request_bridge, path)},
        {"url.path", offsetof(struct sn_request_bridge, path)},
        {"http.target", offsetof(struct sn_request_bridge, path)},
        {"http.route", offsetof(struct sn_request_bridge, route)},
        {"Route", offsetof(struct sn_request_bridge, route)},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        if (strcmp(key, texts[i].key) != 0)
            continue;
        struct sn_buf *to = (struct sn_buf *)(void *)((char *)bridge + texts[i].text);
        sn_buf_clear(to);
        sn_buf_text(to, value);
        return;
    }
    if (strcmp(key, "StatusCode") == 0 || strcmp(key, "http.response.status_code") == 0 ||
        strcmp(key, "http.status_code") == 0)
        bridge->status = to_status(value);
    else if (strcmp(key, "url.full") == 0 || strcmp(key, "http.url") == 0)
        take_url(bridge, value);
    else if (strcmp(key, "Dur") == 0 || strcmp(key, "DurationTicks") == 0)
        bridge->has_duration =
            sn_text_to_u64(value, UINT64_MAX / 100, &bridge->duration_ns); /* in 100 ns so far */
}

/* Tags come as one text: "[http.route, /orders/{id}],[http.response.status_code, 200]". */
static void take_tags(struct sn_request_bridge *bridge, char *tags)
{
    char *at = tags;
    while ((at = strchr(at, '['))) {
        char *key = at + 1;
        char *comma = strstr(key, ", ");
        char *end = comma ? strstr(comma, "],[") : NULL;
        if (!comma)
            return;
        if (!end)
            end = strrchr(comma, ']');
        if (!end)
            return;
        *comma = *end = '\0';
        take_pair(bridge, key, comma + 2);
        at = end + 1;
    }
}

/* --- events --- */

static bool is_request(struct sn_request_bridge *bridge, const char *name)
{
    static const char *const served[] = {"Microsoft.AspNetCore.Hosting.HttpRequestIn",
                                         "Microsoft.AspNetCore.Hosting.BeginRequest",
                                         "Microsoft.AspNetCore.Hosting.EndRequest"};
    bridge->is_outgoing = strncmp(name, "System.Net.Http.HttpRequestOut", 30) == 0;
    if (bridge->is_outgoing)
        return true;
    for (size_t i = 0; i < sizeof(served) / sizeof(*served); i++) {
        if (strncmp(name, served[i], strlen(served[i])) == 0)
            return true;
    }
    return false;
}

static void read_pairs(struct sn_request_bridge *bridge, const struct sn_event *event)
{
    struct sn_payload payload;
    struct sn_value value;
    sn_payload_start(&payload, event);
    while (sn_payload_next(&payload, &value) == SONDE_OK) {
        if (value.kind != SN_VALUE_TEXT16 || value.depth < 2)
            continue;
        bool is_key = strcmp(value.field->name, "Key") == 0;
        struct sn_buf *to = is_key ? &bridge->key : &bridge->value;
        sn_buf_clear(to);
        sn_event_append_text(&value, to);
        if (is_key)
            continue;
        (void)sn_buf_string(to); /* puts the zero behind it */
        if (strcmp(sn_buf_string(&bridge->key), "Tags") == 0)
            take_tags(bridge, to->size ? (char *)to->bytes : (char[]){""});
        else
            take_pair(bridge, sn_buf_string(&bridge->key), sn_buf_string(to));
    }
}

bool sn_request_bridge_read(struct sn_request_bridge *bridge, const struct sn_event *event)
{
    uint8_t opcode = event->schema->opcode;
    if (opcode != OPCODE_START && opcode != OPCODE_STOP)
        return false;
    reset(bridge);
    bridge->is_start = opcode == OPCODE_START;
    if (!sn_event_text(event, "EventName", &bridge->value))
        (void)sn_event_text(event, "ActivityName", &bridge->value);
    if (!is_request(bridge, sn_buf_string(&bridge->value)))
        return false;
    read_pairs(bridge, event);
    bridge->duration_ns *= 100;
    return true;
}
