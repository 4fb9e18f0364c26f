/** @file
 * Conditions on events, as people write them: `Duration > 50 && @name == GCStart`. */
#ifndef SONDE_FILTER_H
#define SONDE_FILTER_H

#include <stdbool.h>

#include "sonde/error.h"
#include "sonde/event.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** A condition; opaque. */
struct sonde_filter;

/** Reads a condition: comparisons `field op value`, joined by && || ! and parentheses, or by the
 * words and, or, not. The ops are == (or =) != < <= > >= and =~ !~, whose right side is a pattern:
 * a star is anything, a question mark one character, without either a part of the text is enough,
 * and the case of letters does not count.
 *
 * A field is one of the payload's, whatever the case: "a.b" is b inside the object a, or inside any
 * element of the array a, or the value of the pair whose key is b, as dictionaries are written. Or
 * it is of the event itself, with an at sign before it: provider, name, level (also by name:
 * `@level <= warning`), id, version, opcode, keywords, thread, pid, activity, related. A field
 * alone holds when it is there and neither 0, false, "" nor empty. Of an array any element that
 * holds is enough. A field that an event does not have makes its comparison false, whatever the op.
 *
 * A value is a number (decimal, 0x..., 1.5e3), true, false, a GUID, a time (RFC 3339, as UTC unless
 * it says otherwise, or without the clock) or text; what has spaces or signs stands in double or
 * single quotes, and is no number then. Numbers are compared as numbers, exactly, whatever type the
 * field has, text that holds a number included; times with numbers as seconds since 1970.
 *
 * SONDE_E_ARGUMENT with the offset of what cannot be read, in bytes. The caller frees it. */
int sonde_filter_new(const char *text, struct sonde_filter **ret_filter, struct sonde_error *err);

/** Frees a condition; NULL is fine. */
void sonde_filter_free(struct sonde_filter *filter);

/** Whether it holds for an event. What sonde_event_next reads next stays as it is. */
bool sonde_filter_holds(const struct sonde_filter *filter, const struct sonde_event *event);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
