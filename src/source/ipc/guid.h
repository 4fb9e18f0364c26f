/* A GUID as it lies on the wire, and as text. */
#ifndef SN_IPC_GUID_H
#define SN_IPC_GUID_H

#include <stdbool.h>
#include <stdint.h>

struct sn_ipc_guid {
    uint8_t bytes[16]; /* u32, u16, u16 little-endian, then 8 bytes */
};

bool sn_ipc_guid_is_zero(const struct sn_ipc_guid *guid);
bool sn_ipc_guid_is_equal(const struct sn_ipc_guid *one, const struct sn_ipc_guid *other);

/* "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4". `to` needs 37 bytes. */
const char *sn_ipc_guid_text(const struct sn_ipc_guid *guid, char to[37]);

/* Reads the form above, with or without braces. False when it is not one. */
bool sn_ipc_guid_parse(const char *text, struct sn_ipc_guid *ret_guid);

#endif
