#include "net/post.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"

#define HEAD_LIMIT        (16u << 10)
#define RETRY_AFTER_MAX_S 60u

/* --- the request --- */

static bool is_ours(const char *header)
{
    static const char *const ours[] = {"host:",       "content-length:", "transfer-encoding:",
                                       "connection:", "content-type:",   "expect:"};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (strncasecmp(header, ours[i], strlen(ours[i])) == 0)
            return true;
    }
    return false;
}

/* What would end the line in its middle could smuggle in anything. */
static bool is_one_line(const char *text)
{
    for (; *text; text++) {
        if (((uint8_t)*text < ' ' && *text != '\t') || *text == 0x7f)
            return false;
    }
    return true;
}

static int check_header(const char *header, struct sonde_error *err)
{
    static const char name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789!#$%&'*+-.^_`|~";
    size_t name_size = strspn(header, name_characters);
    if (!name_size || header[name_size] != ':' || !is_one_line(header)) /* it may hold a secret */
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "a header must look like 'Name: value', in one line");
    if (is_ours(header))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the header %.*s is set by sonde itself",
                       (int)name_size, header);
    return SONDE_OK;
}

static int write_head(struct sn_post *post, const struct sn_url *url,
                      const struct sn_sender_options *options, struct sonde_error *err)
{
    char authority[272];
    sn_buf_format(&post->head, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: sonde/%s\r\n",
                  url->path, sn_url_authority(url, authority), SONDE_VERSION);
    if (options->content_type) {
        if (!is_one_line(options->content_type))
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "the content type must be one line");
        sn_buf_format(&post->head, "Content-Type: %s\r\n", options->content_type);
    }
    for (size_t i = 0; i < options->header_count; i++) {
        int rc = check_header(options->headers[i], err);
        if (rc != SONDE_OK)
            return rc;
        sn_buf_format(&post->head, "%s\r\n", options->headers[i]);
    }
    sn_buf_text(&post->head, "Content-Length: ");
    if (post->head.failed)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the headers have more than %u bytes", HEAD_LIMIT);
    return SONDE_OK;
}

int sn_post_init(struct sn_post *post, const struct sn_url *url,
                 const struct sn_sender_options *options, struct sonde_error *err)
{
    post->head = sn_buf_with_limit(HEAD_LIMIT + 64); /* the length of a body still fits */
    int rc = write_head(post, url, options, err);
    post->fixed_size = post->head.size;
    return rc;
}

void sn_post_done(struct sn_post *post)
{
    sn_buf_done(&post->head);
}

static int send_request(struct sn_post *post, struct sn_wire *wire, const void *bytes, size_t size,
                        struct sonde_error *err)
{
    post->head.size = post->fixed_size;
    sn_buf_decimal(&post->head, size);
    sn_buf_text(&post->head, "\r\n\r\n");
    if (post->head.failed)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a request");
    int rc = sn_wire_send(wire, post->head.bytes, post->head.size, err);
    return rc == SONDE_OK ? sn_wire_send(wire, bytes, size, err) : rc;
}

/* --- its answer --- */

static int receive_answer(struct sn_post *post, struct sn_wire *wire, struct sonde_error *err)
{
    uint64_t deadline = sn_clock_deadline(wire->timeout_ns);
    char bytes[4096];
    int rc = SONDE_AGAIN;
    sn_http_answer_init(&post->answer);
    while (rc == SONDE_AGAIN) {
        size_t got = 0;
        size_t used = 0;
        rc = sn_wire_receive(wire, bytes, sizeof(bytes), deadline, &got, err);
        if (rc != SONDE_OK)
            return rc;
        if (!got && !sn_http_answer_has_begun(&post->answer))
            return sn_fail(err, SONDE_E_GONE, 0,
                           "the receiver closed the connection without an answer");
        rc = got ? sn_http_answer_feed(&post->answer, bytes, got, &used, err)
                 : sn_http_answer_end(&post->answer, err);
        if (used < got)
            post->answer.keeps_alive = false; /* whatever else it says, nobody asked for it */
    }
    if (rc != SONDE_E_LIMIT || !sn_http_answer_has_head(&post->answer))
        return rc;
    post->answer.keeps_alive = false; /* of a body without end nobody needs the rest */
    return SONDE_OK;
}

static bool may_be_taken_later(unsigned status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

static int judge(struct sn_post *post, struct sonde_error *err)
{
    const struct sn_http_answer *answer = &post->answer;
    uint32_t seconds = answer->retry_after_s;
    if (answer->status / 100 == 2)
        return SONDE_OK;
    bool is_later = may_be_taken_later(answer->status);
    if (is_later)
        post->retry_after_ns = (seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S) *
                               (uint64_t)SN_NS_PER_SECOND;
    const char *more = answer->excerpt[0] == '<' ? "" : answer->excerpt; /* a page: for browsers */
    return sn_fail(err, is_later ? SONDE_E_BUSY : SONDE_E_REFUSED, 0, "HTTP %u %s%s%s",
                   answer->status, answer->reason, more[0] ? ": " : "", more);
}

int sn_post_send(struct sn_post *post, struct sn_wire *wire, const void *bytes, size_t size,
                 struct sonde_error *err)
{
    struct sonde_error send_err = {0};
    struct sonde_error answer_err = {0};
    post->retry_after_ns = 0;
    int send_rc = send_request(post, wire, bytes, size, &send_err);
    /* One who does not want the rest answers in the middle and closes: that answer counts. */
    int rc = send_rc == SONDE_OK || send_rc == SONDE_E_GONE
                 ? receive_answer(post, wire, &answer_err)
                 : send_rc;
    if (rc == SONDE_OK) {
        if (!post->answer.keeps_alive || send_rc != SONDE_OK)
            sn_wire_close(wire);
        return judge(post, err);
    }
    sn_wire_close(wire);
    return sn_fail_as(err, send_rc != SONDE_OK ? &send_err : &answer_err);
}
