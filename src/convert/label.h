/* What frames, threads and units are called in the formats of others. */
#ifndef SN_LABEL_H
#define SN_LABEL_H

#include <stdint.h>

struct sn_buf;
struct sn_format_options;
struct sn_frame;
struct sn_profile;
struct sn_profile_thread;

/* Appends "Shop.Orders.Place", or "Shop!Shop.Orders.Place(int32)" for full names; never nothing. */
void sn_label_frame(struct sn_buf *to, const struct sn_frame *frame,
                    const struct sn_format_options *options);

/* The same with " Orders.cs:42" behind it where that is known: for formats without a place for it.
 */
void sn_label_frame_line(struct sn_buf *to, const struct sn_frame *frame,
                         const struct sn_format_options *options);

/* The frame of what has no stack, in every format: nothing that was counted is left out. */
#define SN_LABEL_NO_STACK "[no stack]"

/* Appends ".NET TP Worker (5756)", or "thread 5756". */
void sn_label_thread(struct sn_buf *to, const struct sn_profile_thread *thread);

/* The frame of each thread's process, SN_NO_INDEX where the profile has none: a new array that the
 * caller frees. NULL without memory. */
uint32_t *sn_label_processes(const struct sn_profile *profile);

/* Appends "shop (5730)": the process of that frame and with that pid. */
void sn_label_process(struct sn_buf *to, const struct sn_frame *frame, uint32_t pid);

/* Appends "shop.nettrace: wall time": as much of it as there is. */
void sn_label_document(struct sn_buf *to, const struct sn_format_options *options);

/* Threads that have something in the column, most first: a new array that the caller frees, with
 * *ret_count of them. NULL without memory. */
uint32_t *sn_label_threads(const struct sn_profile *profile, int column, uint32_t *ret_count);

#endif
