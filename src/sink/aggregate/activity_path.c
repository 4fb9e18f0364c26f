#include "sink/aggregate/activity_path.h"

#include <string.h>

#define PATH_SIZE 12u /* bytes; twice as many nibbles */

enum { LAST_IMMEDIATE = 10, PREFIX = 11, ONE_BYTE = 12 };

static unsigned nibble_at(const uint8_t *path, unsigned at)
{
    return at % 2 ? path[at / 2] & 15u : path[at / 2] >> 4;
}

/* Where the number that begins at nibble `at` ends; 0 when there is none or it is cut. */
static unsigned end_of_number(const uint8_t *path, unsigned at, bool is_short)
{
    unsigned code = at < 2 * PATH_SIZE ? nibble_at(path, at) : 0;
    if (code == PREFIX) {
        at++;
        code = at < 2 * PATH_SIZE ? nibble_at(path, at) : 0;
        if (code <= PREFIX)
            return 0;
    }
    if (code == 0)
        return 0;
    if (code <= LAST_IMMEDIATE)
        return at + 1;
    unsigned byte_count = is_short && code == ONE_BYTE && at % 2 == 0 ? 0 : code - PREFIX;
    unsigned end = 2 * (at / 2 + 1 + byte_count);
    return end <= 2 * PATH_SIZE ? end : 0;
}

bool sn_activity_is_short(const uint8_t activity[SN_ACTIVITY_SIZE])
{
    unsigned at = 0;
    for (unsigned end; (end = end_of_number(activity, at, false)); at = end) {
        bool is_zero = at % 2 == 0 && activity[at / 2] == ONE_BYTE << 4 && !activity[at / 2 + 1];
        if (is_zero)
            return true;
    }
    return false;
}

static uint32_t sum_of(const uint8_t id[SN_ACTIVITY_SIZE])
{
    uint32_t words[3];
    memcpy(words, id, sizeof(words));
    return words[0] + words[1] + words[2] + 0x599D99ADu;
}

static uint32_t checksum_of(const uint8_t id[SN_ACTIVITY_SIZE])
{
    uint32_t checksum;
    memcpy(&checksum, id + PATH_SIZE, sizeof(checksum));
    return checksum;
}

/* The id of the level that ends at nibble `end`. */
static void cut(const uint8_t activity[SN_ACTIVITY_SIZE], unsigned end, uint32_t process,
                uint8_t ret_level[SN_ACTIVITY_SIZE])
{
    memset(ret_level, 0, SN_ACTIVITY_SIZE);
    memcpy(ret_level, activity, (end + 1) / 2);
    if (end % 2)
        ret_level[end / 2] &= 0xF0u;
    uint32_t checksum = sum_of(ret_level) ^ process;
    memcpy(ret_level + PATH_SIZE, &checksum, sizeof(checksum));
}

size_t sn_activity_levels(const uint8_t activity[SN_ACTIVITY_SIZE], bool is_short,
                          uint8_t ret_levels[SN_ACTIVITY_DEPTH_MAX][SN_ACTIVITY_SIZE])
{
    uint32_t process = checksum_of(activity) ^ sum_of(activity);
    size_t count = 0;
    for (unsigned at = end_of_number(activity, 0, is_short);
         at && count < SN_ACTIVITY_DEPTH_MAX - 1; at = end_of_number(activity, at, is_short)) {
        cut(activity, at, process, ret_levels[count]);
        if (memcmp(ret_levels[count], activity, SN_ACTIVITY_SIZE) == 0)
            break;
        count++;
    }
    memcpy(ret_levels[count], activity, SN_ACTIVITY_SIZE);
    return count + 1;
}
