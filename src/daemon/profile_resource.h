/* The flame graphs that are kept for those who ask again. */
#ifndef SN_PROFILE_RESOURCE_H
#define SN_PROFILE_RESOURCE_H

struct sn_operations;
struct sn_profile_graph;

void sn_profile_resource_done(struct sn_operations *operations);

#endif
