/* Paths of requests to patterns: what differs from one thing to the next becomes a place. No state.
 *
 *   /orders/1234/lines/7?full=1            /orders/{n}/lines/{n}
 *   /users/3f2504e0-4f89-11d3-9a0c-...     /users/{id}
 *   /reports/2024-11-05.csv                /reports/{n}-{n}-{n}.csv
 */
#ifndef SN_ROUTE_PATTERN_H
#define SN_ROUTE_PATTERN_H

#include <stddef.h>

struct sn_buf;

/* Appends the pattern of a path of `size` bytes; "/" for an empty one. */
void sn_route_pattern(struct sn_buf *to, const char *path, size_t size);

#endif
