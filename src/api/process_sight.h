/* A process as /proc shows it, for who watches many and cannot wait for their answers. */
#ifndef SN_PROCESS_SIGHT_H
#define SN_PROCESS_SIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "sonde/process.h"

struct sn_proc_facts;
struct sonde_error;

struct sn_process_sight {
    struct sonde_process process; /* texts lie in `texts` */
    bool has_ended;               /* and waits for its parent: nothing is left to watch */
    struct sn_arena texts;
};

/* Whether it is .NET is told by `is_dotnet`; SONDE_E_NOT_FOUND when there is no such process. */
int sn_process_sight_open(struct sn_process_sight *sight, uint32_t pid, bool *ret_is_dotnet,
                          struct sonde_error *err);
void sn_process_sight_close(struct sn_process_sight *sight);

/* sn_proc_facts_read, also of those that are in sight by their port only (source/ipc/neighbour.h):
 * of those there is little to tell. */
bool sn_process_facts(uint32_t pid, struct sn_proc_facts *ret_facts);

/* What people call it, as far as /proc knows: the assembly of "dotnet /srv/app.dll", the program of
 * "/srv/app --port 80", else the kernel's name, which is cut. */
#define SN_PROCESS_NAME 128u
void sn_process_name(const struct sn_proc_facts *facts, char to[SN_PROCESS_NAME]);

/* Who has the pid and what it runs, as one number: another process, or another program after an
 * exec, has another. 0: there is none. */
uint64_t sn_process_print(uint32_t pid);

#endif
