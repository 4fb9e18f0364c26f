#include "source/ipc/guid.h"

#include <string.h>

#include "base/guid_text.h"

bool sn_ipc_guid_is_zero(const struct sn_ipc_guid *guid)
{
    static const struct sn_ipc_guid zero;
    return sn_ipc_guid_is_equal(guid, &zero);
}

bool sn_ipc_guid_is_equal(const struct sn_ipc_guid *one, const struct sn_ipc_guid *other)
{
    return memcmp(one->bytes, other->bytes, sizeof(one->bytes)) == 0;
}

const char *sn_ipc_guid_text(const struct sn_ipc_guid *guid, char to[37])
{
    return sn_guid_write(guid->bytes, to);
}

bool sn_ipc_guid_parse(const char *text, struct sn_ipc_guid *ret_guid)
{
    struct sn_ipc_guid guid;
    if (!sn_guid_read(text, strlen(text), guid.bytes))
        return false;
    *ret_guid = guid;
    return true;
}
