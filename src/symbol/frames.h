/* Addresses of stacks to frames and nodes of a profile, each looked up once: managed, native and
 * kernel code, of one process or of many. One thread. */
#ifndef SN_FRAMES_H
#define SN_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_code;
struct sn_event;
struct sn_frame;
struct sn_frames;
struct sn_place;
struct sn_profile;
struct sonde_error;

/* Finds file and line of `address` in managed code: true and both filled in, borrowed until the
 * next call. */
typedef bool sn_line_fn(void *user, const struct sn_place *place, uint64_t address,
                        const char **ret_file, uint32_t *ret_line);

/* Borrows both. `code` may still grow: an address is resolved when it is first seen. */
int sn_frames_new(struct sn_code *code, struct sn_profile *profile, struct sn_frames **ret_frames,
                  struct sonde_error *err);
void sn_frames_free(struct sn_frames *frames);

/* From now on frames carry file and line. */
void sn_frames_set_lines(struct sn_frames *frames, sn_line_fn *find, void *user);

/* From now on stacks are those that the kernel walks: their innermost address, and the first one
 * behind those of the kernel, is where the thread was, and a method that was replaced while it ran
 * (OSR) shows twice; it is made one. */
void sn_frames_set_kernel(struct sn_frames *frames);

/* From now on a frame for the process stands above each stack. */
void sn_frames_set_processes(struct sn_frames *frames);

/* The frame at one place of an event's stack, the leaf first; NULL when nobody knows what lies
 * there, or there is no room. Borrowed until the next call. */
const struct sn_frame *sn_frames_at(struct sn_frames *frames, const struct sn_event *event,
                                    uint32_t index);

/* The node of an event's stack: its leaf. 0 (the root) for an event without stack. */
uint32_t sn_frames_node(struct sn_frames *frames, const struct sn_event *event);

/* The same below a frame for what the thread does for the runtime (symbol/runtime_threads.h); 0: as
 * above. */
uint32_t sn_frames_role_node(struct sn_frames *frames, const struct sn_event *event, unsigned role);

/* The same with a leaf of another kind below it, such as a type: enum sn_frame_kind. */
uint32_t sn_frames_leaf(struct sn_frames *frames, const struct sn_event *event, const char *name,
                        uint8_t kind);

#endif
