/* Answering requests for exceptions; shared by the native route and dotnet-monitor's. */
#ifndef SN_EXCEPTION_ROUTES_H
#define SN_EXCEPTION_ROUTES_H

#include <stdint.h>

#include "daemon/exception_formats.h"
#include "daemon/route.h"

struct sn_rest_call;

/* In the roads seat: parks the call and finishes it with the exceptions of that process, or answers
 * at once with a problem. `filter` is copied, its texts are borrowed until the call is finished;
 * NULL: everything. Messages are redacted unless the caller has the secrets scope. */
void sn_exceptions_answer(struct sn_rest_call *call, uint32_t pid, enum sn_exception_format format,
                          const struct sn_exception_filter *filter);

extern const struct sn_route sn_exception_routes[];

#endif
