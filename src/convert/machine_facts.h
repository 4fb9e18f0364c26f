/* What the sections about a machine say the same in text, JSON and on a page. No state. */
#ifndef SN_MACHINE_FACTS_H
#define SN_MACHINE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/kernel_report.h"

struct sn_profile;

/* What most of the waiting was for; idle workers only if there was nothing else. */
enum sn_wait_reason sn_off_cpu_most(const struct sn_off_cpu_report *off);
enum sn_wait_reason sn_thread_wait_most(const struct sn_thread_wait *thread);

/* "314 processes, 259 of them ran". */
const char *sn_machine_count(const struct sn_machine_report *machine, char to[96]);

/* What goes behind a sum of the kernel's records where too many of them were lost, or "". */
const char *sn_machine_doubt(const struct sn_machine_report *machine);

/* ", most in Shop.Orders.Place", or "". Names from outside are in it. */
const char *sn_off_cpu_where(const struct sn_off_cpu_report *off, char to[256]);

/* Threads by how long they waited for a CPU, ended by NULL; the caller frees. NULL: none did. */
const struct sn_thread_wait **sn_run_queue_worst(const struct sn_off_cpu_report *off);

/* The upper edge of a bucket (of the last, its lower): "65.5 us". */
const char *sn_run_queue_edge(unsigned bucket, char to[32]);
uint64_t sn_run_queue_edge_ns(unsigned bucket);

/* --- where it was: the code of a profile with types as leaves --- */

struct sn_wait_place {
    const char *name; /* of the code: "Shop.Orders.Place" */
    const char *type; /* the reason, the call */
    bool is_own;      /* not the framework's, nor native */
    uint64_t ns;
    uint64_t count;
};

struct sn_wait_places {
    struct sn_wait_place *items; /* owns; most time first; without idle workers */
    size_t count;
};

void sn_wait_places_find(struct sn_wait_places *places, const struct sn_profile *profile);
void sn_wait_places_done(struct sn_wait_places *places);

static inline void sn_wait_places_done_auto(struct sn_wait_places *places)
{
    sn_wait_places_done(places);
}

#endif
