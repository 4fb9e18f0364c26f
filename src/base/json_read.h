/* Reads JSON piece by piece, without a tree: the input is hostile, nothing is allocated, nesting is
 * bounded. One thread.
 *
 *   while (sn_json_read_next(&reader)) switch (reader.kind) ... */
#ifndef SN_JSON_READ_H
#define SN_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_JSON_READ_DEPTH 16u
#define SN_JSON_READ_TEXT  256u /* longer texts are cut; numbers fit */

enum sn_json_kind {
    SN_JSON_OBJECT, /* opens */
    SN_JSON_ARRAY,  /* opens */
    SN_JSON_CLOSE,  /* of the innermost */
    SN_JSON_NAME,   /* of the member whose value comes next */
    SN_JSON_TEXT,
    SN_JSON_PLAIN, /* a number, true, false or null, as it is written */
};

struct sn_json_reader {
    const char *at; /* borrows */
    const char *end;
    unsigned depth; /* objects and arrays that are open */
    bool is_array[SN_JSON_READ_DEPTH];
    bool wants_value; /* behind a name */
    bool is_first;    /* in what has just been opened */
    bool is_done;
    bool is_bad;  /* it is no JSON, or nested too deep */
    uint8_t kind; /* enum sn_json_kind */
    char text[SN_JSON_READ_TEXT];
};

static inline struct sn_json_reader sn_json_reader_of(const char *text, size_t size)
{
    return (struct sn_json_reader){.at = text, .end = text + size};
}

/* False: no more, or is_bad. */
bool sn_json_read_next(struct sn_json_reader *reader);

#endif
