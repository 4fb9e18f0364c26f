/* The last exceptions of a program, into a file: an operation. Settings: `format` (a number, enum
 * sn_exception_format), `filter` (include and exclude, as dotnet-monitor has them), `secrets`
 * (true: messages as they are). */
#ifndef SN_EXCEPTION_OPERATION_H
#define SN_EXCEPTION_OPERATION_H

#include "daemon/operation.h"

extern const struct sn_operation_kind sn_exception_operation;

#endif
