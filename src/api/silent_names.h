/* Names of the code of .NET processes that cannot be asked: their port is off, out of reach, or
 * does not answer, or they may die before they tell. The addresses in their samples are looked up
 * in their memory while they live, and told on the road as the runtime would have told them. One
 * thread: the loop's. */
#ifndef SN_SILENT_NAMES_H
#define SN_SILENT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct sn_request;
struct sn_road;
struct sn_silent_names;
struct sonde_error;

/* Which events have samples, on which road, and on which the names are told. */
struct sn_silent_roads {
    struct sn_road *heard;            /* borrows */
    struct sn_road *told;             /* borrows; may be the same */
    const struct sn_request *samples; /* borrows, for good; NULL: those of recordings */
    bool is_of_one;                   /* `heard` has events of one process, whatever their pid */
};

/* Freed after the roads. */
int sn_silent_names_new(const struct sn_silent_roads *roads, struct sn_silent_names **ret_names,
                        struct sonde_error *err);
void sn_silent_names_free(struct sn_silent_names *names);

/* From now on this process is looked up in its memory; no-op when it is already. */
void sn_silent_names_add(struct sn_silent_names *names, uint32_t pid);

/* The process has ended, or went on as another program. */
void sn_silent_names_forget(struct sn_silent_names *names, uint32_t pid);

/* After each turn of the loop: looks up what is new, every now and then and for a bounded time. */
void sn_silent_names_tend(struct sn_silent_names *names, uint64_t now_ns);

/* Looks up what is left and says no more. */
void sn_silent_names_stop(struct sn_silent_names *names);

#endif
