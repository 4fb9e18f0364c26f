#include "daemon/trace_cover.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/redact.h"

#define WINDOW   SN_TRACE_COVER_WINDOW
#define OVERLAP  (WINDOW / 2)
#define NAME_MIN 4u /* ASCII characters in a row: below that nothing names a secret */

struct sn_trace_cover {
    size_t size;  /* bytes in the window */
    size_t ready; /* of these may go out */
    size_t taken; /* of these did */
    char bytes[WINDOW];
    char text[WINDOW / 2 * 3]; /* of one run, as UTF-8 */
};

struct sn_trace_cover *sn_trace_cover_new(void)
{
    return calloc(1, sizeof(struct sn_trace_cover));
}

void sn_trace_cover_free(struct sn_trace_cover *cover)
{
    free(cover);
}

/* --- characters --- */

struct character {
    uint32_t code;
    size_t size; /* 0: no text; CUT: it may be one when more has come */
};

#define CUT SIZE_MAX

static bool is_text(uint32_t code)
{
    return (code >= ' ' && code < 0x7f) || code == '\n' || code == '\r' || code == '\t' ||
           (code >= 0xa0 && code != 0xfffe && code != 0xffff);
}

static uint32_t unit_at(const unsigned char *at)
{
    return (uint32_t)(at[0] | at[1] << 8);
}

static struct character read_utf16(const unsigned char *at, size_t left)
{
    if (left < 2)
        return (struct character){0, CUT};
    uint32_t code = unit_at(at);
    if (code < 0xd800 || code > 0xdfff)
        return (struct character){code, is_text(code) ? 2 : 0};
    if (code >= 0xdc00)
        return (struct character){0};
    if (left < 4)
        return (struct character){0, CUT};
    uint32_t low = unit_at(at + 2);
    if (low < 0xdc00 || low > 0xdfff)
        return (struct character){0};
    return (struct character){0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), 4};
}

static struct character read_utf8(const unsigned char *at, size_t left)
{
    if (!left)
        return (struct character){0, CUT};
    if (*at < 0x80)
        return (struct character){*at, is_text(*at) ? 1 : 0};
    size_t size = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
    if (*at < 0xc2 || *at > 0xf4)
        return (struct character){0};
    uint32_t code = *at & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (i == left)
            return (struct character){0, CUT};
        if ((at[i] & 0xc0) != 0x80)
            return (struct character){0};
        code = code << 6 | (at[i] & 0x3fu);
    }
    return (struct character){code, is_text(code) ? size : 0};
}

static size_t put_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((0xf00u >> size & 0xf0) | code);
    return size;
}

/* --- runs of them --- */

enum encoding { UTF16_EVEN, UTF16_ODD, UTF8, ENCODING_COUNT };

struct run {
    char *bytes;
    size_t size;
    size_t text_size; /* as UTF-8 */
    size_t streak;    /* the longest of ASCII */
    bool goes_on;     /* perhaps, behind what is there */
    enum encoding encoding;
    /* How far the covering has come: */
    size_t at;      /* in `bytes` */
    size_t text_at; /* the same place in the text */
};

static struct character read_one(enum encoding encoding, const char *at, size_t left)
{
    const unsigned char *bytes = (const unsigned char *)at;
    return encoding == UTF8 ? read_utf8(bytes, left) : read_utf16(bytes, left);
}

/* The run at `bytes`, and its text. */
static struct run read_run(char *bytes, size_t left, enum encoding encoding, char *text)
{
    struct run run = {.bytes = bytes, .encoding = encoding};
    size_t streak = 0;
    for (;;) {
        struct character c = read_one(encoding, bytes + run.size, left - run.size);
        run.goes_on = c.size == CUT;
        if (!c.size || run.goes_on)
            return run;
        streak = c.code < 0x80 ? streak + 1 : 0;
        run.streak = streak > run.streak ? streak : run.streak;
        run.text_size += put_utf8(text + run.text_size, c.code);
        run.size += c.size;
    }
}

static void advance(struct run *run, size_t text_to, bool is_covered)
{
    char ignored[4];
    while (run->text_at < text_to && run->at < run->size) {
        struct character c = read_one(run->encoding, run->bytes + run->at, run->size - run->at);
        size_t step = run->encoding == UTF8 ? 1 : 2;
        for (size_t i = 0; is_covered && i < c.size; i++)
            run->bytes[run->at + i] = (char)(i % step ? 0 : '*');
        run->text_at += put_utf8(ignored, c.code);
        run->at += c.size;
    }
}

static void cover_found(void *user, size_t at, size_t size)
{
    struct run *run = user;
    advance(run, at, false);
    advance(run, at + size, true);
}

/* Covers what it finds in one encoding; returns where a run begins that may go on, which is looked
 * at only if it cannot wait. */
static size_t cover_all(struct sn_trace_cover *cover, enum encoding encoding, bool is_last)
{
    size_t step = encoding == UTF8 ? 1 : 2;
    size_t at = encoding == UTF16_ODD ? 1 : 0;
    while (at < cover->size) {
        struct run run = read_run(cover->bytes + at, cover->size - at, encoding, cover->text);
        if (run.streak >= NAME_MIN && (is_last || !run.goes_on))
            (void)sn_redact_find(cover->text, run.text_size, cover_found, &run);
        if (run.goes_on)
            return at;
        at += run.size + step;
    }
    return at < cover->size ? at : cover->size;
}

/* --- in and out --- */

char *sn_trace_cover_room(struct sn_trace_cover *cover, size_t *ret_size)
{
    if (cover->taken < cover->ready) {
        *ret_size = 0;
        return cover->bytes;
    }
    memmove(cover->bytes, cover->bytes + cover->ready, cover->size - cover->ready);
    cover->size -= cover->ready;
    cover->ready = 0;
    cover->taken = 0;
    *ret_size = WINDOW - cover->size;
    return cover->bytes + cover->size;
}

void sn_trace_cover_add(struct sn_trace_cover *cover, size_t size, bool is_end)
{
    cover->size += size;
    cover->ready = cover->size;
    for (int encoding = 0; encoding < ENCODING_COUNT; encoding++) {
        size_t sure = cover_all(cover, (enum encoding)encoding, is_end || cover->size == WINDOW);
        cover->ready = sure < cover->ready ? sure : cover->ready;
    }
    if (is_end)
        cover->ready = cover->size;
    else if (cover->size == WINDOW && cover->ready < WINDOW - OVERLAP)
        cover->ready = WINDOW - OVERLAP;
}

size_t sn_trace_cover_take(struct sn_trace_cover *cover, char *to, size_t size)
{
    size_t part = cover->ready - cover->taken < size ? cover->ready - cover->taken : size;
    memcpy(to, cover->bytes + cover->taken, part);
    cover->taken += part;
    return part;
}
