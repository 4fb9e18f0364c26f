#include "daemon/start_pages.h"

#include <link.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Nobody has ever written to a segment that cannot be written: nothing of it is lost. */
static void drop_segment(const struct dl_phdr_info *object, const ElfW(Phdr) * segment)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (object->dlpi_addr + segment->p_vaddr + page - 1) & ~(page - 1);
    uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_filesz) & ~(page - 1);
    if (end > start)
        (void)madvise((void *)start, end - start, MADV_DONTNEED); /* it is only thrift */
}

/* The first is the program itself. */
static int drop_object(struct dl_phdr_info *object, size_t size, void *user)
{
    (void)size;
    (void)user;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
            drop_segment(object, segment);
    }
    return 1;
}

void sn_start_pages_drop(void)
{
    (void)malloc_trim(0);
    (void)dl_iterate_phdr(drop_object, NULL);
}
