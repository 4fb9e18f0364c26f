/* Any bytes as an entry of the ledger of sessions: what is taken is written and read as the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "source/ipc/ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_ledger_entry read = {0};
    struct sn_ledger_entry again = {0};
    struct sn_buf text = sn_buf_with_limit(SN_LEDGER_SIZE);
    struct sn_buf second = sn_buf_with_limit(SN_LEDGER_SIZE);
    if (sn_ledger_decode(data, size, &read)) {
        if (size > SN_LEDGER_SIZE || !read.pid || !read.end.inode)
            abort();
        sn_ledger_encode(&read, &text);
        if (text.failed || !sn_ledger_decode(text.bytes, text.size, &again))
            abort();
        sn_ledger_encode(&again, &second);
        if (second.size != text.size || memcmp(second.bytes, text.bytes, text.size) != 0)
            abort();
    }
    sn_buf_done(&second);
    sn_buf_done(&text);
    return 0;
}
