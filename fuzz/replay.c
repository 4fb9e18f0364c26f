/* Runs a fuzz target over every file of its corpus, so that what was once found stays found. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"

#define LARGEST_INPUT (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(int dir, const char *name)
{
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(LARGEST_INPUT);
    struct sonde_error err = {0};
    if (sn_file_read_at(dir, name, &buf, &err) != SONDE_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    (void)LLVMFuzzerTestOneInput(buf.bytes, buf.size); /* a find is a crash, not a status */
    return 0;
}

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    if (!dir) {
        (void)fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
        return 2;
    }
    unsigned count = 0;
    int failed = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] == '.')
            continue;
        failed |= replay_file(dirfd(dir), entry->d_name);
        count++;
    }
    (void)closedir(dir);
    (void)printf("%u inputs\n", count);
    return failed || !count;
}
