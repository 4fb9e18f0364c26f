/* The native files that processes have mapped: found through the target's own root while they can
 * be, kept open (a bounded number), read with pread, named by build id. Everything in them is
 * hostile. One thread.
 *
 * A file is the same for all processes that map it: by device, inode and size. */
#ifndef SN_OBJECTS_H
#define SN_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_objects;
struct sonde_error;

#define SN_BUILD_ID_MAX 20u

/* A mapping as the kernel tells of it. Borrowed. */
struct sn_object_mapping {
    uint32_t pid; /* host's */
    uint64_t start;
    uint64_t end;
    uint64_t offset;  /* in the file */
    const char *path; /* as the target sees it; may end in " (deleted)"; "[vdso]" */
    uint64_t device;  /* makedev(major, minor), or 0 */
    uint64_t inode;   /* 0: none */
};

int sn_objects_new(struct sn_objects **ret_objects, struct sonde_error *err);
void sn_objects_free(struct sn_objects *objects);

/* The number (from 1) of the file behind a mapping; 0: there is none to read (memory, devices,
 * FIFOs, gone, refused). The kernel's [vdso] counts as a file. Opens it through /proc/PID/root
 * (below that root only) or, when deleted, /proc/PID/map_files, unless it is known. */
uint32_t sn_objects_add(struct sn_objects *objects, const struct sn_object_mapping *mapping);

struct sn_object_facts {
    const char *path; /* as first seen, without " (deleted)" */
    const char *name; /* "libcoreclr.so" */
    bool is_elf;
    uint8_t build_id[SN_BUILD_ID_MAX];
    uint32_t build_id_size; /* 0: none */
    uint64_t load_vaddr;    /* p_vaddr and p_offset of the first executable segment; */
    uint64_t load_offset;   /* sn_objects_vaddr knows all */
    const char *debug_link; /* "" when none */
};
bool sn_objects_facts(struct sn_objects *objects, uint32_t object,
                      struct sn_object_facts *ret_facts);

/* The virtual address of what lies at `file_offset` (ip - start + offset of its mapping), by the
 * executable segment that holds it: they may be moved by different distances. */
uint64_t sn_objects_vaddr(struct sn_objects *objects, uint32_t object, uint64_t file_offset);

/* A function. `name` is demangled, borrowed until the next call. */
struct sn_object_symbol {
    uint64_t start;   /* virtual address in the file */
    uint64_t size;    /* 0 never */
    const char *name; /* "" when only its bounds are known: shown as module and offset */
};

/* The functions that hold one or more of `vaddrs`, which ascend, in one walk through the file's
 * symbols and without keeping any: .symtab, then that of a separate debug file (by build id or
 * debug link), .dynsym, else the bounds from .eh_frame_hdr. A symbol holds an address only if its
 * size says so. `found` is called once for each function, in ascending order (again if another one
 * lies within it); not at all for addresses of which nothing is known. */
typedef void sn_objects_found_fn(void *user, const struct sn_object_symbol *symbol);
void sn_objects_symbols(struct sn_objects *objects, uint32_t object, const uint64_t *vaddrs,
                        size_t count, sn_objects_found_fn *found, void *user);

/* The same for a single address, with a bounded memory of earlier answers; false: nothing is known
 * of it. */
bool sn_objects_symbol(struct sn_objects *objects, uint32_t object, uint64_t vaddr,
                       struct sn_object_symbol *ret_symbol);

/* How to find a caller's frame at `vaddr` (format/eh_frame.h has the words); false: no rule. */
struct sn_cfi_row;
bool sn_objects_cfi(struct sn_objects *objects, uint32_t object, uint64_t vaddr,
                    struct sn_cfi_row *ret_row);

/* A descriptor of the file that holds its debug information, itself or another; -1: none. Borrowed.
 */
int sn_objects_debug_fd(struct sn_objects *objects, uint32_t object);

#endif
