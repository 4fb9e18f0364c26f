/* Addresses of stacks to frames and nodes of a profile, each looked up once. One thread. */
#ifndef SN_FRAMES_H
#define SN_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_event;
struct sn_frames;
struct sn_method;
struct sn_methods;
struct sn_profile;
struct sonde_error;

/* Finds file and line of `address`: true and both filled in, borrowed until the next call. */
typedef bool sn_line_fn(void *user, const struct sn_method *method, uint64_t address,
                        const char **ret_file, uint32_t *ret_line);

/* Borrows both. `methods` may still grow: an address is resolved when it is first seen. */
int sn_frames_new(struct sn_methods *methods, struct sn_profile *profile,
                  struct sn_frames **ret_frames, struct sonde_error *err);
void sn_frames_free(struct sn_frames *frames);

/* From now on frames carry file and line. */
void sn_frames_set_lines(struct sn_frames *frames, sn_line_fn *find, void *user);

/* The node of an event's stack: its leaf. 0 (the root) for an event without stack. */
uint32_t sn_frames_node(struct sn_frames *frames, const struct sn_event *event);

/* The same with a leaf of another kind below it, such as a type: enum sn_frame_kind. */
uint32_t sn_frames_leaf(struct sn_frames *frames, const struct sn_event *event, const char *name,
                        uint8_t kind);

#endif
