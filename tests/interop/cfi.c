/* Prints the call frame rule at every address of an ELF file that comes in, one a line:
 * "ADDRESS START SIZE CFA RBP" with CFA "rsp+8", "rbp+16", "exp" or "none", RBP "u", "c-16" or "?";
 * or "ADDRESS none". Beside it readelf says what is true. */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/eh_frame.h"

static size_t read_file(void *user, uint64_t offset, void *to, size_t size)
{
    ssize_t got = pread(*(const int *)user, to, size, (off_t)offset);
    return got > 0 ? (size_t)got : 0;
}

/* The oracle's files are in order: this reader does not mistrust them. */
static struct sn_eh_frame find_frames(int fd)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    struct sn_eh_frame frame = {0};
    if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
        exit(2);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        if (pread(fd, &segment, sizeof(segment), (off_t)(header.e_phoff + i * sizeof(segment))) !=
            sizeof(segment))
            exit(2);
        if (segment.p_type == PT_GNU_EH_FRAME)
            frame = (struct sn_eh_frame){segment.p_vaddr, segment.p_offset, segment.p_filesz,
                                         segment.p_vaddr - segment.p_offset};
    }
    return frame;
}

static void print_row(uint64_t vaddr, const struct sn_cfi_row *row)
{
    static const char *const bases[] = {"exp", "rsp", "rbp", "exp", "none"};
    printf("%" PRIx64 " %" PRIx64 " %" PRIx64 " %s", vaddr, row->start, row->size,
           bases[row->base]);
    if (row->base == SN_CFA_RSP || row->base == SN_CFA_RBP)
        printf("%+d", row->offset);
    if (row->rbp == SN_RBP_SAVED)
        printf(" c%+d\n", row->rbp_offset);
    else
        printf(" %s\n", row->rbp == SN_RBP_KEPT ? "u" : "?");
}

int main(int argc, char **argv)
{
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 2;
    const struct sn_eh_frame frame = find_frames(fd);
    const struct sn_read_at file = {read_file, &fd};
    char line[64];
    while (fgets(line, sizeof(line), stdin)) {
        uint64_t vaddr = strtoull(line, NULL, 16);
        struct sn_cfi_row row = {0};
        if (sn_eh_frame_row(&file, &frame, vaddr, &row))
            print_row(vaddr, &row);
        else
            printf("%" PRIx64 " none\n", vaddr);
    }
    return 0;
}
