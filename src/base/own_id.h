/* The number of a process or thread as it counts itself, in the innermost pid namespace that it is
 * in. No state. */
#ifndef SN_OWN_ID_H
#define SN_OWN_ID_H

#include <stdbool.h>
#include <stdint.h>

/* `tid` 0: of the process. 0: it has ended. */
uint64_t sn_own_id(uint32_t pid, uint32_t tid);

/* Whether it counts in another namespace than we do; true when that cannot be seen. */
bool sn_own_id_is_apart(uint32_t pid);

#endif
