/* The distinct code addresses in the stacks of a recording, each with its process and the mapping
 * it lies in; and what else one pass over the journal must find out before names can be given. Part
 * of api/record_names. One thread.
 *
 * First take every event, then sort, then ask. */
#ifndef SN_RECORD_HITS_H
#define SN_RECORD_HITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_event;
struct sn_hits;
struct sonde_error;

struct sn_hit_mapping {
    uint64_t id;
    uint64_t start;
    uint64_t end; /* past it */
    uint64_t offset;
    uint32_t object;  /* the recorder's number of its file (symbol/objects.h); 0: none */
    uint32_t process; /* of sn_hits_process */
    uint32_t pid;
    const char *path;
};

struct sn_hit {
    uint64_t key;     /* process and address, in this order */
    uint32_t mapping; /* of sn_hits_mapping; 0: none was told */
    bool is_named;
};

/* What is of interest in an event, by its schema. */
enum sn_hit_event {
    SN_HIT_NOTHING, /* but its stack */
    SN_HIT_UNIVERSAL,
    SN_HIT_METHOD, /* a method with its name and bounds */
    SN_HIT_ENTRY,  /* the entry point of a precompiled method, without its size */
    SN_HIT_MODULE,
};
enum sn_hit_event sn_hit_event_of(const struct sn_event *event);

int sn_hits_new(struct sn_hits **ret_hits, struct sonde_error *err);
void sn_hits_free(struct sn_hits *hits);

void sn_hits_take(struct sn_hits *hits, const struct sn_event *event);
int sn_hits_sort(struct sn_hits *hits, struct sonde_error *err);

/* The process with that pid at that time, for events that come in the order of the first pass.
 * SN_HITS_NOBODY: one too many, nothing of it is kept. */
#define SN_HITS_NOBODY UINT32_MAX
uint32_t sn_hits_process(struct sn_hits *hits, const struct sn_event *event);
uint32_t sn_hits_pid(const struct sn_hits *hits, uint32_t process);
/* Starts the order of processes anew: before another pass. */
void sn_hits_rewind(struct sn_hits *hits);
/* Whether the pid of a process has been used again. */
bool sn_hits_is_newest(const struct sn_hits *hits, uint32_t process);

/* The hits of a process from `start` until before `end`: *ret_hits of them follow each other. */
size_t sn_hits_range(struct sn_hits *hits, uint32_t process, uint64_t start, uint64_t end,
                     struct sn_hit **ret_hits);
/* How often an address found no room: it has no name. */
uint64_t sn_hits_dropped(const struct sn_hits *hits);
struct sn_hit *sn_hits_all(struct sn_hits *hits, size_t *ret_count);
uint64_t sn_hit_address(const struct sn_hit *hit);
const struct sn_hit_mapping *sn_hits_mapping(const struct sn_hits *hits, uint32_t mapping);

/* The build id of a file, in hexadecimal, by its number in the recording; "" when not told. */
const char *sn_hits_build_id(const struct sn_hits *hits, uint32_t object);

/* Kernel addresses, ascending. */
const uint64_t *sn_hits_kernel(const struct sn_hits *hits, size_t *ret_count);
uint64_t sn_hits_kernel_mapping(const struct sn_hits *hits); /* its id; 0: none was told */

/* The first start of precompiled code behind `address`, as far as is known; UINT64_MAX: none. */
uint64_t sn_hits_next_start(const struct sn_hits *hits, uint32_t process, uint64_t address);

/* The module in that file; 0: none. */
uint64_t sn_hits_module_id(struct sn_hits *hits, uint32_t process, const char *path);

#endif
