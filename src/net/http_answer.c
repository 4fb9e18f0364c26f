#include "net/http_answer.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

void sn_http_answer_init(struct sn_http_answer *answer)
{
    memset(answer, 0, offsetof(struct sn_http_answer, line));
}

void sn_http_answer_deliver(struct sn_http_answer *answer, sn_http_body_fn *take, void *user)
{
    answer->take = take;
    answer->user = user;
}

/* What a length may be: of a delivered body any that can be counted. */
static uint64_t body_max(const struct sn_http_answer *answer)
{
    return answer->take ? (uint64_t)INT64_MAX / 16 : SN_HTTP_BODY_MAX;
}

bool sn_http_answer_has_begun(const struct sn_http_answer *answer)
{
    return answer->head_size > 0;
}

bool sn_http_answer_has_head(const struct sn_http_answer *answer)
{
    return answer->part > SN_HTTP_HEADERS;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_printable(char c)
{
    return c >= ' ' && c <= '~';
}

static int bad(const char *what, struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_FORMAT, 0, "the answer is no HTTP/1.1: %s", what);
}

/* Appends what a terminal may be shown; anything else becomes a space. */
static void append_shown(char *to, size_t capacity, const char *from, size_t size)
{
    size_t length = strlen(to);
    for (size_t i = 0; i < size && length + 1 < capacity; i++)
        to[length++] = from[i];
    for (size_t i = 0; i < length; i++) {
        if (!is_printable(to[i]))
            to[i] = ' ';
    }
    to[length] = '\0';
}

/* --- the head --- */

/* "HTTP/1.1 200 OK" */
static int read_status_line(struct sn_http_answer *answer, struct sonde_error *err)
{
    const char *line = answer->line;
    bool is_1_0 = strncmp(line, "HTTP/1.0 ", 9) == 0;
    if (!is_1_0 && strncmp(line, "HTTP/1.1 ", 9) != 0)
        return bad("it starts with something else", err);
    const char *code = line + 9;
    if (code[0] < '1' || code[0] > '5' || !is_digit(code[1]) || !is_digit(code[2]) ||
        (code[3] && code[3] != ' '))
        return bad("its status is no number from 100 to 599", err);
    answer->status = (unsigned)(code[0] - '0') * 100 + (unsigned)(code[1] - '0') * 10 +
                     (unsigned)(code[2] - '0');
    answer->reason[0] = '\0';
    if (code[3])
        append_shown(answer->reason, sizeof(answer->reason), code + 4, strlen(code + 4));
    answer->is_http_1_0 = is_1_0;
    answer->keeps_alive = !is_1_0;
    answer->part = SN_HTTP_HEADERS;
    return SONDE_OK;
}

static int read_length(struct sn_http_answer *answer, const char *value, struct sonde_error *err)
{
    uint64_t length = 0;
    const char *at = value;
    for (; is_digit(*at) && length <= body_max(answer); at++)
        length = length * 10 + (uint64_t)(*at - '0');
    if (at == value || (*at && !is_digit(*at)))
        return bad("its length is no number", err);
    if (answer->has_length && length != answer->left)
        return bad("it has two lengths", err);
    answer->has_length = true;
    answer->left = length; /* one over the ceiling is refused when the body comes */
    return SONDE_OK;
}

static int read_coding(struct sn_http_answer *answer, const char *value, struct sonde_error *err)
{
    if (answer->is_http_1_0 || answer->is_chunked)
        return bad("it has a transfer coding where none may be", err);
    if (strcasecmp(value, "chunked") != 0)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "the answer has a transfer coding we did not ask for");
    answer->is_chunked = true;
    return SONDE_OK;
}

static bool has_word(const char *list, const char *word)
{
    size_t size = strlen(word);
    while (*list) {
        size_t length = strcspn(list, ", \t");
        if (length == size && strncasecmp(list, word, size) == 0)
            return true;
        list += length;
        list += strspn(list, ", \t");
    }
    return false;
}

static void read_connection(struct sn_http_answer *answer, const char *value)
{
    if (has_word(value, "close"))
        answer->keeps_alive = false;
    else if (answer->is_http_1_0 && has_word(value, "keep-alive"))
        answer->keeps_alive = true;
}

/* Seconds; a date is left aside: our own pauses serve as well. */
static void read_retry_after(struct sn_http_answer *answer, const char *value)
{
    uint32_t seconds = 0;
    const char *at = value;
    for (; is_digit(*at); at++)
        seconds = seconds > 1000000 ? seconds : seconds * 10 + (uint32_t)(*at - '0');
    if (at != value && !*at)
        answer->retry_after_s = seconds;
}

/* "text/csv" of "text/csv; charset=utf-8". */
static void read_type(struct sn_http_answer *answer, const char *value)
{
    answer->type[0] = '\0';
    append_shown(answer->type, sizeof(answer->type), value, strcspn(value, "; \t"));
}

/* One that would be cut leads elsewhere. */
static void read_location(struct sn_http_answer *answer, const char *value)
{
    answer->location[0] = '\0';
    if (strlen(value) < sizeof(answer->location))
        append_shown(answer->location, sizeof(answer->location), value, strlen(value));
}

static void read_server(struct sn_http_answer *answer, const char *value)
{
    answer->server[0] = '\0';
    append_shown(answer->server, sizeof(answer->server), value, strlen(value));
}

static bool is_name_character(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* Splits "Name: value" in place. */
static int split_header(char *line, char **ret_value, struct sonde_error *err)
{
    char *at = line;
    while (is_name_character(*at))
        at++;
    if (at == line || *at != ':')
        return bad("a header has no name", err);
    *at++ = '\0';
    at += strspn(at, " \t");
    size_t size = strlen(at);
    while (size && (at[size - 1] == ' ' || at[size - 1] == '\t'))
        at[--size] = '\0';
    *ret_value = at;
    return SONDE_OK;
}

static int read_header(struct sn_http_answer *answer, struct sonde_error *err)
{
    static const struct {
        const char *name;
        void (*read)(struct sn_http_answer *answer, const char *value);
    } told[] = {
        {"connection", read_connection}, {"retry-after", read_retry_after},
        {"content-type", read_type},     {"location", read_location},
        {"server", read_server},
    };
    char *value = answer->line;
    int rc = split_header(answer->line, &value, err);
    if (rc != SONDE_OK || answer->part == SN_HTTP_TRAILERS)
        return rc;
    if (strcasecmp(answer->line, "content-length") == 0)
        return read_length(answer, value, err);
    if (strcasecmp(answer->line, "transfer-encoding") == 0)
        return read_coding(answer, value, err);
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        if (strcasecmp(answer->line, told[i].name) == 0)
            told[i].read(answer, value);
    }
    return SONDE_OK;
}

/* The answers that come before the real one: nothing of them counts. */
static int skip_interim(struct sn_http_answer *answer, struct sonde_error *err)
{
    if (answer->status == 101 || ++answer->interim_count > SN_HTTP_INTERIM_MAX)
        return bad("it is interim for ever", err);
    answer->has_length = false;
    answer->is_chunked = false;
    answer->retry_after_s = 0;
    answer->type[0] = answer->location[0] = answer->server[0] = '\0';
    answer->left = 0;
    answer->part = SN_HTTP_STATUS_LINE;
    return SONDE_OK;
}

/* The empty line: what body follows. */
static int end_head(struct sn_http_answer *answer, struct sonde_error *err)
{
    if (answer->status < 200)
        return skip_interim(answer, err);
    if (answer->is_chunked && answer->has_length)
        return bad("it has a length and a transfer coding", err);
    if (answer->status == 204 || answer->status == 304) {
        answer->part = SN_HTTP_COMPLETE;
    } else if (answer->is_chunked) {
        answer->part = SN_HTTP_CHUNK_SIZE;
    } else if (answer->has_length) {
        answer->part = answer->left ? SN_HTTP_BODY_SIZED : SN_HTTP_COMPLETE;
    } else {
        answer->part = SN_HTTP_BODY_UNTIL_CLOSE;
        answer->keeps_alive = false;
    }
    return SONDE_OK;
}

/* --- the body --- */

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "1f4" or "1f4;extension" */
static int read_chunk_size(struct sn_http_answer *answer, struct sonde_error *err)
{
    uint64_t size = 0;
    const char *at = answer->line;
    for (; hex_digit(*at) >= 0 && size <= body_max(answer); at++)
        size = size * 16 + (uint64_t)hex_digit(*at);
    bool is_number = at != answer->line;
    at += strspn(at, "0123456789abcdefABCDEF"); /* of one that is too large anyway */
    at += strspn(at, " \t");
    if (!is_number || (*at && *at != ';'))
        return bad("the size of a chunk is no number", err);
    if (answer->take)
        answer->head_size = 1; /* a stream has chunks without end: each is bounded */
    answer->left = size;
    answer->part = size ? SN_HTTP_CHUNK : SN_HTTP_TRAILERS;
    return SONDE_OK;
}

static bool is_in_body(const struct sn_http_answer *answer)
{
    return answer->part == SN_HTTP_BODY_SIZED || answer->part == SN_HTTP_BODY_UNTIL_CLOSE ||
           answer->part == SN_HTTP_CHUNK;
}

static int take_body(struct sn_http_answer *answer, const char *bytes, size_t size, size_t *used,
                     struct sonde_error *err)
{
    bool is_sized = answer->part != SN_HTTP_BODY_UNTIL_CLOSE;
    size_t count = is_sized && answer->left < size ? (size_t)answer->left : size;
    uint64_t room = body_max(answer) - answer->body_size;
    if (count > room || (is_sized && answer->left > room))
        return sn_fail(err, SONDE_E_LIMIT, 0, "the answer has more than %" PRIu64 " bytes",
                       body_max(answer));
    append_shown(answer->excerpt, sizeof(answer->excerpt), bytes, count);
    answer->body_size += count;
    *used += count;
    int rc = answer->take ? answer->take(answer->user, bytes, count, err) : SONDE_OK;
    if (rc != SONDE_OK)
        return rc;
    if (!is_sized)
        return SONDE_OK;
    answer->left -= count;
    if (!answer->left)
        answer->part = answer->part == SN_HTTP_CHUNK ? SN_HTTP_CHUNK_END : SN_HTTP_COMPLETE;
    return SONDE_OK;
}

/* --- lines --- */

static int read_line(struct sn_http_answer *answer, struct sonde_error *err)
{
    bool is_empty = !answer->line[0];
    switch (answer->part) {
    case SN_HTTP_STATUS_LINE: return read_status_line(answer, err);
    case SN_HTTP_HEADERS: return is_empty ? end_head(answer, err) : read_header(answer, err);
    case SN_HTTP_CHUNK_SIZE: return read_chunk_size(answer, err);
    case SN_HTTP_CHUNK_END:
        answer->part = SN_HTTP_CHUNK_SIZE;
        return is_empty ? SONDE_OK : bad("a chunk does not end where it should", err);
    case SN_HTTP_TRAILERS:
        if (!is_empty)
            return read_header(answer, err);
        answer->part = SN_HTTP_COMPLETE;
        return SONDE_OK;
    default: return SONDE_OK;
    }
}

/* One byte of a line; at its end the line is read. */
static int take_line_byte(struct sn_http_answer *answer, char c, struct sonde_error *err)
{
    bool after_cr = answer->line_size && answer->line[answer->line_size - 1] == '\r';
    if (++answer->head_size > SN_HTTP_HEAD_MAX || answer->line_size == SN_HTTP_LINE_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "the head of the answer is too long");
    if (after_cr != (c == '\n') || (c != '\r' && c != '\n' && c != '\t' && (uint8_t)c < ' ') ||
        c == 0x7f)
        return bad("a line holds or ends with a character that it must not", err);
    if (!after_cr) {
        answer->line[answer->line_size++] = c;
        return SONDE_OK;
    }
    answer->line[answer->line_size - 1] = '\0';
    answer->line_size = 0;
    return read_line(answer, err);
}

int sn_http_answer_feed(struct sn_http_answer *answer, const void *bytes, size_t size,
                        size_t *ret_used, struct sonde_error *err)
{
    const char *at = bytes;
    size_t used = 0;
    int rc = SONDE_OK;
    while (used < size && answer->part != SN_HTTP_COMPLETE && rc == SONDE_OK) {
        if (is_in_body(answer))
            rc = take_body(answer, at + used, size - used, &used, err);
        else
            rc = take_line_byte(answer, at[used++], err);
    }
    *ret_used = used;
    if (rc != SONDE_OK)
        return rc;
    return answer->part == SN_HTTP_COMPLETE ? SONDE_OK : SONDE_AGAIN;
}

int sn_http_answer_end(struct sn_http_answer *answer, struct sonde_error *err)
{
    if (answer->part == SN_HTTP_BODY_UNTIL_CLOSE)
        answer->part = SN_HTTP_COMPLETE;
    if (answer->part == SN_HTTP_COMPLETE)
        return SONDE_OK;
    return sn_fail(err, SONDE_E_TRUNCATED, 0, "the connection ended in the middle of the answer");
}
