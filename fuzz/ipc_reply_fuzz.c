/* Any bytes as the answer of a port: a status comes back, nothing outside is touched, it ends. */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "source/ipc/message.h"
#include "source/ipc/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t seen; /* keeps the reads */

/* What was read must be whole: every text ends, the list is as long as it says. */
static size_t touch_info(const struct sn_ipc_process_info *info)
{
    return strlen(info->command_line) + strlen(info->os) + strlen(info->arch) +
           strlen(info->entry_assembly) + strlen(info->version) + strlen(info->rid);
}

static size_t decode_infos(const uint8_t *payload, size_t size)
{
    size_t sum = 0;
    for (unsigned generation = 1; generation <= 3; generation++) {
        struct sn_ipc_process_info info = {0};
        struct sonde_error err = {0};
        if (sn_ipc_decode_process_info(payload, size, generation, &info, &err) == SONDE_OK)
            sum += touch_info(&info);
        sn_ipc_process_info_done(&info);
    }
    return sum;
}

static size_t decode_environment(const uint8_t *bytes, size_t size)
{
    struct sn_ipc_environment environment = {0};
    struct sonde_error err = {0};
    size_t sum = 0;
    if (sn_ipc_decode_environment(bytes, size, &environment, &err) == SONDE_OK) {
        for (size_t i = 0; i < environment.count; i++)
            sum += strlen(environment.variables[i]);
    }
    sn_ipc_environment_done(&environment);
    return sum;
}

static size_t decode_all(const uint8_t *payload, size_t size)
{
    struct sn_buf said = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE);
    uint32_t hresult = 0;
    uint64_t id = 0;
    size_t more = 0;
    size_t sum = decode_infos(payload, size) + decode_environment(payload, size);
    if (sn_ipc_decode_error(payload, size, &hresult, &said, NULL) == SONDE_OK)
        sum += strlen(sn_ipc_hresult_text(hresult));
    if (sn_ipc_decode_result(payload, size, &hresult, NULL) == SONDE_OK)
        sum += hresult;
    if (sn_ipc_decode_session_id(payload, size, &id, NULL) == SONDE_OK)
        sum += id;
    if (sn_ipc_decode_environment_size(payload, size, &more, NULL) == SONDE_OK)
        sum += more;
    sn_buf_done(&said);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    struct sn_ipc_reply_header header;
    if (sn_ipc_decode_reply_header(data, size, &header, NULL) == SONDE_OK) {
        size_t whole = header.size < size ? header.size : size;
        sum += decode_all(data + SN_IPC_HEADER_SIZE, whole - SN_IPC_HEADER_SIZE);
        sum += decode_environment(data + whole, size - whole);
    } else {
        sum += decode_all(data, size);
    }
    seen = sum;
    return 0;
}
