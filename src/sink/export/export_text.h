/* Names and values from targets as text that a format can carry. Whatever is too long is cut, and
 * ends in a number made from the whole, so that what was different stays different. */
#ifndef SN_EXPORT_TEXT_H
#define SN_EXPORT_TEXT_H

#include <stddef.h>

struct sn_buf;

#define SN_EXPORT_WORD_MAX  200u  /* bytes: a part of a path is a file's name in Graphite */
#define SN_EXPORT_VALUE_MAX 1024u /* bytes, where nothing smaller is said */

/* ASCII letters and digits and what is in `kept`; all else becomes one `_` each, nothing becomes
 * "_". */
void sn_export_word(struct sn_buf *to, const char *text, const char *kept);

/* UTF-8 of at most `limit` bytes in which white space, control characters and those in `without`
 * became `_`, and what is no UTF-8 U+FFFD. */
void sn_export_clean(struct sn_buf *to, const char *text, const char *without, size_t limit);

/* UTF-8 of at most SN_EXPORT_VALUE_MAX bytes; nothing but broken sequences is changed. */
void sn_export_valid(struct sn_buf *to, const char *text);

/* Cuts what `to` has behind `start` to `limit` bytes of ASCII in the same way. */
void sn_export_cut(struct sn_buf *to, size_t start, size_t limit);

#endif
