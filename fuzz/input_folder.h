/* The fuzzer's bytes as files in a folder of our own, for code that opens files by their paths. The
 * folder is gone when the program ends well. */
#ifndef FUZZ_INPUT_FOLDER_H
#define FUZZ_INPUT_FOLDER_H

#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char input_folder_path[] =
    "/dev/shm/sonde-fuzz-XXXXXX"; /* in memory: a sync costs nothing */

static int input_folder_remove(const char *path, const struct stat *status, int kind,
                               struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    (void)remove(path);
    return 0;
}

static void input_folder_done(void)
{
    (void)nftw(input_folder_path, input_folder_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* Its path; made at the first call. */
static inline const char *input_folder(void)
{
    static int is_made;
    if (!is_made && (!mkdtemp(input_folder_path) || atexit(input_folder_done) != 0))
        abort();
    is_made = 1;
    return input_folder_path;
}

static inline void input_folder_add(const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", input_folder(), name);
    (void)mkdir(path, 0700); /* or it is there */
}

/* In place of what the file held. */
static inline void input_folder_write(const char *name, const void *bytes, size_t size)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", input_folder(), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd) != 0)
        abort();
}

#endif
