/* Any bytes as unwind data, and as the instructions behind them: nothing is read that the data do
 * not lead to, work stays small, and what fails changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "format/unwind_info.h"

#define READS_MAX 1024u

static bool read_word(void *user, uint64_t address, uint64_t *ret_word)
{
    unsigned *reads = user;
    if (++*reads > READS_MAX)
        abort();
    *ret_word = address * 0x9e3779b97f4a7c15u;
    return address % 64 != 56;
}

static void check(const struct sn_unwind_state *before, const struct sn_unwind_state *after,
                  bool is_done)
{
    if (!is_done && (before->ip != after->ip || before->known != after->known ||
                     memcmp(before->registers, after->registers, sizeof(before->registers)) != 0))
        abort();
    if (is_done && (after->known & before->known) != before->known)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sn_unwind_info info;
    unsigned reads = 0;
    const struct sn_unwind_stack stack = {read_word, &reads};
    struct sn_unwind_state before;
    memset(&before, 0, sizeof(before));
    before.known = size ? (uint16_t)(1u << SN_UNWIND_RSP | data[size - 1]) : 1u << SN_UNWIND_RSP;
    before.registers[SN_UNWIND_RSP] = 0x7f0000000000u;
    before.registers[SN_UNWIND_RBP] = 0x7f0000000100u;
    if (sn_unwind_info_parse(data, size, &info)) {
        if (info.count > SN_UNWIND_CODES || sn_unwind_info_size(data) > SN_UNWIND_INFO_MAX)
            abort();
        for (uint32_t offset = 0; offset <= 256; offset += 1 + offset / 8) {
            struct sn_unwind_state after = before;
            reads = 0;
            check(&before, &after, sn_unwind_info_undo(&info, offset, &stack, &after));
        }
    }
    for (size_t at = 0; at < size && at < 64; at++) {
        struct sn_unwind_state after = before;
        const struct sn_unwind_code_bytes code = {data + at, size - at, 0, 1u << 20};
        reads = 0;
        check(&before, &after, sn_unwind_epilogue(&code, &stack, &after));
    }
    return 0;
}
