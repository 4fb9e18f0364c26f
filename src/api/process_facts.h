/* What is known of each process in scope beside its samples: a source of SN_UNIVERSAL_PROCESS_FACTS
 * on the road.
 *
 * A process is looked at a moment after it was told of, when it is what it is going to be; one that
 * has gone by then has none. One thread: the loop's. */
#ifndef SN_PROCESS_FACTS_H
#define SN_PROCESS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_process_facts;
struct sn_road;
struct sonde_error;

/* The road owns the source in it: free the facts after the road. */
int sn_process_facts_new(struct sn_road *road, bool keeps_secrets,
                         struct sn_process_facts **ret_facts, struct sonde_error *err);
void sn_process_facts_free(struct sn_process_facts *facts);

/* Looks at a process at `when_ns` (0: at the next tending). */
void sn_process_facts_want(struct sn_process_facts *facts, uint32_t pid, uint64_t when_ns);

/* Looks at once, with what its runtime has told; where nobody else tells of processes, `with_name`
 * also says that it exists. */
void sn_process_facts_tell(struct sn_process_facts *facts, uint32_t pid, uint8_t kind,
                           const char *version, bool with_name);

/* After each turn. */
void sn_process_facts_tend(struct sn_process_facts *facts, uint64_t now_ns);
void sn_process_facts_stop(struct sn_process_facts *facts);

/* Pieces of command lines that were left out. */
uint64_t sn_process_facts_redactions(const struct sn_process_facts *facts);

#endif
