/* Raw traces for who may not see secrets: texts in them (UTF-16) are looked at as any text is, and
 * what looks like a secret is covered with asterisks of the same length, so that the file stays
 * what it is. No state. */
#ifndef SN_TRACE_COVER_H
#define SN_TRACE_COVER_H

#include <stdbool.h>
#include <stddef.h>

/* Covers what is in `bytes`, `size` of them, in a buffer for `capacity`. Returns how many of them
 * may go out: a text at their end that may go on in the next ones stays behind, to be given again;
 * unless it is the end, or fills the buffer. */
size_t sn_trace_cover(char *bytes, size_t size, size_t capacity, bool is_end);

#endif
