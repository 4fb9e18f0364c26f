/* Activity ids that EventSource makes: paths, so that a child's id tells its ancestors'. No state.
 *
 *   byte  0..11  numbers, one a level, in nibbles, the high one first:
 *                  1..10        the number itself
 *                  12..15       a number of 1 to 4 bytes follows, from the next whole byte on, low
 *                               byte first; a low nibble left beside the code is its top part
 *                  11           what follows is of an activity whose path did not fit
 *                  0            the end
 *         12..15 checksum: the three words before, and the process id
 *
 * .NET 10 (10.0.12) writes the code of a number above 10 and, where the code is a high nibble, not
 * the number: siblings share an id, and what is below begins where the number should be. Such ids
 * are called short here. */
#ifndef SN_ACTIVITY_PATH_H
#define SN_ACTIVITY_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_ACTIVITY_SIZE      16u
#define SN_ACTIVITY_DEPTH_MAX 24u

/* Whether the runtime that made it makes short ids: a number that is 0 tells. */
bool sn_activity_is_short(const uint8_t activity[SN_ACTIVITY_SIZE]);

/* The ids of all levels of `activity`, the outermost first, itself last. Returns how many: at least
 * 1, as an id that is no path is its own only level. */
size_t sn_activity_levels(const uint8_t activity[SN_ACTIVITY_SIZE], bool is_short,
                          uint8_t ret_levels[SN_ACTIVITY_DEPTH_MAX][SN_ACTIVITY_SIZE]);

#endif
