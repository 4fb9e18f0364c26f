/* The target of a request: a path, decoded once, and a query as it came. */
#ifndef SN_HTTP_PATH_H
#define SN_HTTP_PATH_H

#include <stdbool.h>

/* Splits "/a%20b?c=%41" in place into "/a b" and "c=%41" ("" for none). False: it is no path (it
 * does not begin with a slash, has a fragment, spaces or controls), an escape is none, hides a zero
 * or a slash, or what comes out is not UTF-8 without controls. Segments such as ".." stay as they
 * are: whoever looks for something by its name does not find it. */
bool sn_http_path_split(char *target, const char **ret_query);

#endif
