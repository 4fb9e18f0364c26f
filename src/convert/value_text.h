/* Values of events as text, the same for every output: times, GUIDs, hexadecimal numbers. No state.
 */
#ifndef SN_VALUE_TEXT_H
#define SN_VALUE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_VALUE_TIME_MAX 40u
#define SN_VALUE_GUID_MAX 37u

/* RFC 3339 in UTC with nine digits, of nanoseconds since 1970. Returns its length; no zero is put
 * behind it, nor by the others. */
size_t sn_value_utc(char to[SN_VALUE_TIME_MAX], uint64_t utc_ns);

/* The same with seven digits, of 100 ns since 1601. 0: the year has five digits, for which there is
 * no place. */
size_t sn_value_file_time(char to[SN_VALUE_TIME_MAX], uint64_t steps);

/* "00112233-4455-6677-8899-aabbccddeeff": the first three parts are little-endian numbers. */
size_t sn_value_guid(char to[SN_VALUE_GUID_MAX], const uint8_t *guid);

/* Digits of a number, without what marks it as hexadecimal. */
size_t sn_value_hex(char to[16], uint64_t value);

#endif
