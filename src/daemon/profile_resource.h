/* The flame graphs that are kept for those who ask again. */
#ifndef SN_PROFILE_RESOURCE_H
#define SN_PROFILE_RESOURCE_H

#include <stdint.h>

struct sn_operations;
struct sn_profile_graph;

/* Readings that are to be tried again: when, and now. */
uint64_t sn_profile_resource_next_ns(const struct sn_operations *operations);
void sn_profile_resource_turn(struct sn_operations *operations, uint64_t now_ns);

void sn_profile_resource_done(struct sn_operations *operations);

#endif
