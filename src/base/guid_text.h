/* GUIDs as they are written: "8a1c2d3e-4f50-6172-8394-a5b6c7d8e9f0". In memory the first three
 * parts are numbers, little-endian. */
#ifndef SN_GUID_TEXT_H
#define SN_GUID_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_GUID_LENGTH 36u

/* In small letters; returns `to`. */
const char *sn_guid_write(const uint8_t guid[16], char to[SN_GUID_LENGTH + 1]);

/* All of `size` bytes, in letters of any size, braces around it allowed. False: it is none, and
 * `ret_guid` means nothing. */
bool sn_guid_read(const char *text, size_t size, uint8_t ret_guid[16]);

#endif
