/* Any bytes as the advertisement of a runtime: only 34 well-formed ones are taken. */
#include <stdlib.h>

#include "base/err.h"
#include "source/ipc/port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_ipc_advertisement said = {0};
    struct sonde_error err = {0};
    int rc = sn_ipc_decode_advertisement(data, size, &said, &err);
    if (rc == SONDE_OK && (size != SN_IPC_ADVERTISEMENT_SIZE || !said.ns_pid))
        abort();
    if (rc != SONDE_OK && !err.text[0])
        abort();
    return 0;
}
