#include "convert/html_page.h"

#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/html_assets.h"
#include "convert/html_data.h"
#include "convert/html_prune.h"
#include "convert/html_text.h"

void sn_html_page_begin(struct sn_stream *stream, const char *title, const char *subtitle)
{
    struct sn_buf *out = &stream->buf;
    sn_buf_text(out, "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n");
    sn_buf_format(out,
                  "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
                  "script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'\">\n",
                  sn_html_script.hash, sn_html_style.hash);
    sn_buf_text(out, "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=referrer content=no-referrer>\n"
                     "<meta name=generator content=\"sonde " SONDE_VERSION "\">\n<title>");
    sn_html_text(out, title);
    sn_buf_text(out, "</title>\n<style>");
    sn_buf_append(out, sn_html_style.bytes, sn_html_style.size);
    sn_buf_text(out, "</style>\n</head>\n<body>\n<header><h1><bdi>");
    sn_html_text(out, title);
    sn_buf_text(out, "</bdi></h1><p>");
    sn_html_text(out, subtitle);
    sn_buf_text(out, "</p></header>\n<main>\n");
    sn_stream_settle(stream);
}

const char *sn_html_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void sn_html_page_note(struct sn_stream *stream, const char *note)
{
    if (!note || !note[0])
        return;
    sn_buf_text(&stream->buf, "<p class=note>");
    sn_html_text(&stream->buf, note);
    sn_buf_text(&stream->buf, "</p>\n");
}

void sn_html_page_end(struct sn_stream *stream)
{
    struct sn_buf *out = &stream->buf;
    sn_buf_text(out, "</main>\n<footer><p>Written by sonde " SONDE_VERSION
                     ". This page is complete: it loads nothing and sends nothing.</p></footer>\n"
                     "<script type=module>");
    sn_buf_append(out, sn_html_script.bytes, sn_html_script.size);
    sn_buf_text(out, "</script>\n</body>\n</html>\n");
    sn_stream_settle(stream);
}

/* An sn_write_fn: JSON on its way into a script element, which the first "</script" in a name would
 * end. In JSON a "<" is inside a string, where it can be written by number. */
static int write_without_markup(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct sn_stream *page = user;
    (void)err; /* failures stay in the page's own stream */
    for (const char *at = bytes; size;) {
        const char *mark = memchr(at, '<', size);
        size_t length = mark ? (size_t)(mark - at) : size;
        sn_buf_append(&page->buf, at, length);
        if (mark)
            sn_buf_text(&page->buf, "\\u003c");
        length += mark != NULL;
        at += length;
        size -= length;
    }
    sn_stream_settle(page);
    return SONDE_OK;
}

void sn_html_page_flame(struct sn_stream *stream, const struct sn_html_profile *profiles,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sn_html_is_too_large(profiles[i].profile)) {
            sn_html_page_note(
                stream, "This profile is large: its smallest stacks, each under 0.01 % or "
                        "little more, are drawn as one frame, [small stacks], below their caller.");
            break;
        }
    }
    sn_buf_text(&stream->buf, "<div id=flame><noscript>The flame graph needs JavaScript. This page "
                              "has its own and loads none.</noscript></div>\n"
                              "<script type=application/json id=profile-data>");
    SN_AUTO(sn_stream_done) struct sn_stream data;
    sn_stream_init(&data, write_without_markup, stream);
    struct sn_json json = sn_json_to(&data.buf);
    sn_json_object(&json, NULL);
    sn_json_array(&json, "profiles");
    for (size_t i = 0; i < count; i++)
        sn_html_data_write(&data, &json, &profiles[i]);
    sn_json_close(&json);
    sn_json_close(&json);
    (void)sn_stream_finish(&data, &stream->err);
    sn_buf_text(&stream->buf, "</script>\n");
    sn_stream_settle(stream);
}
