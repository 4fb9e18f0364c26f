/* Durations and sizes as people write them, on command lines and in configuration files. */
#ifndef SN_QUANTITY_H
#define SN_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* "30", "30s", "250ms", "1.5s", "1h30m", "dd:hh:mm:ss". */
bool sn_quantity_duration(const char *text, uint64_t *ret_ns);

/* "4096", "64K", "100MB", "4MiB". */
bool sn_quantity_bytes(const char *text, uint64_t *ret_bytes);

#endif
