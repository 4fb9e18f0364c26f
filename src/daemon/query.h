/* What stands in the path and the query of a request, held against a route's table: decoded once,
 * every value of its kind and within its bounds. Foreign bytes: bounded, nothing is guessed. No
 * state. */
#ifndef SN_QUERY_H
#define SN_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/route.h"

#define SN_QUERY_VALUES_MAX 16u

/* What is wrong with which parameter. */
struct sn_query_problem {
    char member[64];
    char text[256];
};

/* How many variables the route's path takes from `path`, -1 when it is not this route's. `path` is
 * cut up where `values` point into it; with `values` NULL it is only looked at. Routes outside
 * /api/ are matched whatever the case, as those who ask for them are used to. */
int sn_query_match(const struct sn_route *route, char *path, const char **values);

/* Fills `values` (SN_QUERY_VALUES_MAX, by the order of the route's table) from `query`, which is
 * decoded in place and stays theirs. Values that are there already, of the path, are checked too.
 * False: see *ret_problem. Names that the table has not are a problem within /api/ only. */
bool sn_query_read(const struct sn_route *route, char *query, const char **values,
                   struct sn_query_problem *ret_problem);

/* Whether a route is ours, and strict. */
bool sn_query_is_native(const struct sn_route *route);

/* %41 and + decoded in place. False: a broken escape, or a zero. */
bool sn_query_decode(char *text);

/* "2026-11-16T06:43:42Z" or seconds since 1970, as nanoseconds. False: neither. */
bool sn_query_time(const char *text, uint64_t *ret_utc_ns);

#endif
