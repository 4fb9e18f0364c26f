/* Any bytes as a request: what the strict decoder accepts, the encoder writes back to the last bit.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "source/ipc/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_arena arena = sn_arena_with_limit(SN_IPC_REQUEST_MEMORY);
    struct sn_ipc_request request;
    struct sonde_error err = {0};
    if (sn_ipc_decode_request(data, size, &arena, &request, &err) == SONDE_OK) {
        struct sn_buf again = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE);
        if (sn_ipc_encode(&request, &again, &err) != SONDE_OK || again.size != size ||
            memcmp(again.bytes, data, size) != 0)
            abort();
        sn_buf_done(&again);
    } else if (!err.status || !err.text[0]) {
        abort(); /* a refusal without a reason */
    }
    sn_arena_done(&arena);
    return 0;
}
