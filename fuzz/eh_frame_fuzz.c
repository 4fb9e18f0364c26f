/* Any bytes as the call frame information of a file: the header at the start, its size and the
 * address in the first bytes. Reads stay few and small, and a row that comes back makes sense. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "format/eh_frame.h"

#define READS_MAX  64u
#define READ_BYTES (16u << 10)

struct file {
    const uint8_t *bytes;
    size_t size;
    unsigned reads;
};

static size_t read_bytes(void *user, uint64_t offset, void *to, size_t size)
{
    struct file *file = user;
    if (file->reads++ > READS_MAX || size > READ_BYTES)
        abort(); /* no input makes it read on and on */
    if (offset >= file->size)
        return 0;
    size_t left = file->size - (size_t)offset;
    size_t got = size < left ? size : left;
    memcpy(to, file->bytes + offset, got);
    return got;
}

static void check_row(const struct sn_cfi_row *row, uint64_t vaddr)
{
    if (vaddr < row->start || vaddr - row->start >= row->size || row->rbp > SN_RBP_UNKNOWN ||
        row->base > SN_CFA_OUTERMOST ||
        ((row->base == SN_CFA_RSP || row->base == SN_CFA_RBP) && row->offset < 8))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_cursor cur = sn_cursor_over(data, size);
    uint64_t vaddr = sn_cursor_u64(&cur);
    struct sn_eh_frame frame = {.hdr_size = sn_cursor_u32(&cur)};
    frame.hdr_vaddr = sn_cursor_u64(&cur);
    frame.vaddr_to_offset = frame.hdr_vaddr;
    if (cur.bad)
        return 0;
    struct file bytes = {cur.at, sn_cursor_left(&cur), 0};
    const struct sn_read_at file = {read_bytes, &bytes};
    struct sn_cfi_row row = {0};
    uint64_t start = 0;
    uint64_t length = 0;
    bool has_row = sn_eh_frame_row(&file, &frame, vaddr, &row);
    bytes.reads = 0;
    bool has_bounds = sn_eh_frame_bounds(&file, &frame, vaddr, &start, &length);
    if (has_row && (!has_bounds || start != row.start || length != row.size))
        abort();
    if (has_row)
        check_row(&row, vaddr);
    return 0;
}
