/* The CPUs that are online. */
#ifndef SN_CPUS_H
#define SN_CPUS_H

#include <stddef.h>
#include <stdint.h>

#define SN_CPU_MAX 4096u

/* Their numbers, rising; at least one. */
size_t sn_cpus_online(uint32_t cpus[SN_CPU_MAX]);

/* The numbers in a list as the kernel writes it, "0-3,8"; those beyond `most` are left out. */
size_t sn_cpus_parse(const char *list, uint32_t *cpus, size_t most);

#endif
