/* A file of a target, opened so that it can neither make us wait nor lead us out of the target's
 * root, and opened again when it was closed to save descriptors. Regular files only; and the code
 * that the kernel maps into every process, [vdso], which is no file but reads like one. */
#ifndef SN_OBJECT_FILE_H
#define SN_OBJECT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_OBJECT_DELETED \
    " (deleted)" /* what the kernel puts behind the path of a file without one */

/* Where it is. What is 0 is not known. */
struct sn_object_place {
    uint32_t pid;     /* whose root `path` is seen from; 0: ours */
    const char *path; /* borrows; absolute; may end in " (deleted)" */
    uint64_t start;   /* of a mapping of it, for /proc/PID/map_files */
    uint64_t end;
    uint64_t device;
    uint64_t inode;
};

struct sn_object_file {
    struct sn_object_place place;
    uint64_t device; /* as fstat has it: file systems with subvolumes differ from mappings */
    uint64_t inode;
    uint64_t size;
    int64_t changed_ns;
    const uint8_t *memory; /* [vdso]: ours, and so everybody's; NULL: a file */
    int fd;                /* owns; -1: closed */
};

/* False when there is none that can be trusted to be the one mapped; the file stays closed then. */
bool sn_object_file_open(const struct sn_object_place *place, struct sn_object_file *ret_file);

/* False when there is none. */
bool sn_object_file_open_vdso(struct sn_object_file *ret_file);

/* No-op when it is open, or memory. False when it is not there any more, or is another one now. */
bool sn_object_file_reopen(struct sn_object_file *file);
void sn_object_file_close(struct sn_object_file *file);

bool sn_object_file_is_same(const struct sn_object_file *one, const struct sn_object_file *other);

/* As sn_read_at_fn, on an open file. */
size_t sn_object_file_read(const struct sn_object_file *file, uint64_t offset, void *to,
                           size_t size);

#endif
