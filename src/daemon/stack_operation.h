/* The stacks of all threads of a program, into a file: an operation. Settings: `format`, as
 * sonde_stacks_write has them. */
#ifndef SN_STACK_OPERATION_H
#define SN_STACK_OPERATION_H

#include "daemon/operation.h"

extern const struct sn_operation_kind sn_stack_operation;

#endif
