/* Writes JSON as it goes, without a tree. Commas, quotes and escapes are its business; one thread.
 *
 *   sn_json_object(&json, NULL); sn_json_text(&json, "name", name); sn_json_close(&json);
 * A NULL key writes an element of an array or the document itself. Text that is not UTF-8 gets
 * U+FFFD. */
#ifndef SN_JSON_H
#define SN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_JSON_DEPTH_MAX 32u

struct sn_buf;

struct sn_json {
    struct sn_buf *out; /* borrows */
    unsigned depth;
    bool has_member[SN_JSON_DEPTH_MAX];
    bool is_array[SN_JSON_DEPTH_MAX];
};

static inline struct sn_json sn_json_to(struct sn_buf *out)
{
    return (struct sn_json){.out = out};
}

void sn_json_object(struct sn_json *json, const char *key);
void sn_json_array(struct sn_json *json, const char *key);
void sn_json_close(struct sn_json *json); /* the innermost object or array */

void sn_json_text(struct sn_json *json, const char *key, const char *text); /* NULL: null */
void sn_json_bytes(struct sn_json *json, const char *key, const char *text, size_t size);
void sn_json_u64(struct sn_json *json, const char *key, uint64_t value);
void sn_json_i64(struct sn_json *json, const char *key, int64_t value);
void sn_json_real(struct sn_json *json, const char *key,
                  double value); /* 15 digits; not finite: null */
void sn_json_exact_real(struct sn_json *json, const char *key,
                        double value); /* as many digits as reading it back takes */
void sn_json_bool(struct sn_json *json, const char *key, bool value);
void sn_json_null(struct sn_json *json, const char *key);

#endif
