/* A folder of a test's own, in memory where there is such a place: syncs are dear. */
#ifndef SN_TEST_OWN_FOLDER_H
#define SN_TEST_OWN_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#define OWN_FOLDER_SIZE 64

static inline void own_folder_make(char path[OWN_FOLDER_SIZE], const char *what)
{
    const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(path, OWN_FOLDER_SIZE, "%s/sonde-%s-XXXXXX", memory, what);
    assert_non_null(mkdtemp(path));
}

static inline int own_folder_remove_one(const char *path, const struct stat *facts, int kind,
                                        struct FTW *where)
{
    (void)facts;
    (void)kind;
    (void)where;
    return remove(path);
}

/* With all that is in it. */
static inline void own_folder_remove(const char *path)
{
    (void)nftw(path, own_folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
