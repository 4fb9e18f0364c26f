/* Ownership: locals that own release themselves at the end of their scope. */
#ifndef SN_OWN_H
#define SN_OWN_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `SN_AUTO(sn_free) char *name = NULL;` releases `name` when it goes out of scope. A type brings
 * its own `<drop>_auto`. */
#define SN_AUTO(drop) __attribute__((cleanup(drop##_auto)))

/* Moves a pointer out of its variable, so that the scope's end finds NULL there. */
#define SN_TAKE(slot)                     \
    __extension__({                       \
        __typeof__(slot) taken_ = (slot); \
        (slot) = NULL;                    \
        taken_;                           \
    })

static inline void sn_free_auto(void *slot)
{
    void *memory;
    memcpy(&memory, slot, sizeof(memory)); /* a cast through void ** would break aliasing rules */
    free(memory);
}

/* Closes `fd` unless it is negative; keeps errno. */
void sn_close(int fd);

static inline void sn_close_auto(const int *fd)
{
    sn_close(*fd);
}

/* Moves a descriptor out of its variable. */
static inline int sn_take_fd(int *slot)
{
    int fd = *slot;
    *slot = -1;
    return fd;
}

#endif
