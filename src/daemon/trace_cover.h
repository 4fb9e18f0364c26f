/* Raw traces for who may not see secrets: texts in them (UTF-16 at either parity, UTF-8) are looked
 * at as any text is, and what looks like a secret is covered with asterisks of the same length, so
 * that the file stays what it is. Bytes go in as they come and out when no text that they belong to
 * can go on; a text is held whole up to SN_TRACE_COVER_WINDOW, which no event of a runtime reaches,
 * and looked at in halves that overlap beyond. One thread. */
#ifndef SN_TRACE_COVER_H
#define SN_TRACE_COVER_H

#include <stdbool.h>
#include <stddef.h>

#define SN_TRACE_COVER_WINDOW (256u << 10) /* bytes */

struct sn_trace_cover;

struct sn_trace_cover *sn_trace_cover_new(void); /* NULL: no memory */
void sn_trace_cover_free(struct sn_trace_cover *cover);

/* Where the next bytes may be put, *ret_size of them: none while some are ready. */
char *sn_trace_cover_room(struct sn_trace_cover *cover, size_t *ret_size);

/* They were put there; `is_end`: no more will be. */
void sn_trace_cover_add(struct sn_trace_cover *cover, size_t size, bool is_end);

/* Takes what may go out; 0: nothing, until more was added. */
size_t sn_trace_cover_take(struct sn_trace_cover *cover, char *to, size_t size);

#endif
