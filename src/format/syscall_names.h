/* Names of the system calls of x86-64, by number. No state. */
#ifndef SN_SYSCALL_NAMES_H
#define SN_SYSCALL_NAMES_H

#include <stdint.h>

/* "openat"; NULL for a number that has none (or a call newer than the table). */
const char *sn_syscall_name(uint64_t number);

#endif
