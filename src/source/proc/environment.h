/* What is in the environment that a process was started with. */
#ifndef SN_ENVIRONMENT_H
#define SN_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Whether `text`, of at most 256 bytes, stands anywhere in it. False also when it cannot be read.
 */
bool sn_proc_environment_has(uint32_t pid, const char *text);

#endif
