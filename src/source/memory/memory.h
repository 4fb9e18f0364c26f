/* The memory of a process as it is read from outside: of a live one through /proc/PID/mem, of a
 * dead one from its core file. Nothing runs in the process and nothing in it waits. All of it is
 * hostile: any byte may be anything and may change between two reads; what is read twice may
 * differ. One thread. */
#ifndef SN_MEMORY_H
#define SN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_memory;
struct sonde_error;

enum sn_memory_map_flags {
    SN_MAP_READ = 1,
    SN_MAP_WRITE = 2,
    SN_MAP_CODE = 4, /* executable */
};

/* A mapping; sorted by address, none over another. Borrowed from the memory. */
struct sn_memory_map {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* in the file */
    uint64_t device;
    uint64_t inode;   /* 0: no file */
    const char *path; /* as the target sees it; "" : no file; "[stack]" */
    uint32_t flags;   /* enum sn_memory_map_flags */
};

/* Where bytes come from. `read` gives how many of `size` came: fewer where the next page is not
 * there. */
struct sn_memory_source {
    size_t (*read)(void *user, uint64_t address, void *to, size_t size);
    void (*free)(void *user); /* may be NULL */
    void *user;
};

/* SONDE_E_DENIED with the reason and what helps; SONDE_E_NOT_FOUND, SONDE_E_GONE. */
int sn_memory_of_process(uint32_t pid, struct sn_memory **ret_memory, struct sonde_error *err);

/* Of any source, with mappings that the caller gives (copied): core files, tests. Takes the
 * source's `user`. */
int sn_memory_of_source(const struct sn_memory_source *source, const struct sn_memory_map *maps,
                        size_t map_count, struct sn_memory **ret_memory, struct sonde_error *err);

void sn_memory_free(struct sn_memory *memory);

static inline void sn_memory_free_auto(struct sn_memory **slot)
{
    sn_memory_free(*slot);
}

/* All of it or nothing: false. Pages are kept until sn_memory_forget. */
bool sn_memory_read(struct sn_memory *memory, uint64_t address, void *to, size_t size);

/* The same, never from what is kept: what must be of this very moment. How many bytes came. */
size_t sn_memory_read_now(struct sn_memory *memory, uint64_t address, void *to, size_t size);

bool sn_memory_u8(struct sn_memory *memory, uint64_t address, uint8_t *ret_value);
bool sn_memory_u16(struct sn_memory *memory, uint64_t address, uint16_t *ret_value);
bool sn_memory_u32(struct sn_memory *memory, uint64_t address, uint32_t *ret_value);
bool sn_memory_u64(struct sn_memory *memory, uint64_t address, uint64_t *ret_value);

/* UTF-16 or UTF-8 up to its zero, or `size` - 1 bytes of UTF-8; false: it cannot be read. Always
 * ends `to`. */
bool sn_memory_utf16(struct sn_memory *memory, uint64_t address, char *to, size_t size);
bool sn_memory_utf8(struct sn_memory *memory, uint64_t address, char *to, size_t size);

/* From then on (monotonic clock; 0: never) nothing can be read any more: whatever walks through the
 * memory ends soon. */
void sn_memory_set_deadline(struct sn_memory *memory, uint64_t deadline_ns);
bool sn_memory_is_late(const struct sn_memory *memory);

/* Forgets what was kept: the next reads are of now. */
void sn_memory_forget(struct sn_memory *memory);

/* Looks at the mappings again (live processes only). */
int sn_memory_refresh_maps(struct sn_memory *memory, struct sonde_error *err);

size_t sn_memory_map_count(const struct sn_memory *memory);
const struct sn_memory_map *sn_memory_map_at(const struct sn_memory *memory, size_t index);
const struct sn_memory_map *sn_memory_map_of(const struct sn_memory *memory, uint64_t address);

uint32_t sn_memory_pid(const struct sn_memory *memory); /* 0: not a live process */

#endif
