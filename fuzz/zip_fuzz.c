/* Any bytes as a zip file: every member is read, none gives more than it announced unless the file
 * is cut, and a failure has its cause. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/zip_reader.h"

#define READS_MAX 4096u

static void check(int rc, const struct sonde_error *err)
{
    if ((rc == SONDE_OK) != !err->text[0])
        abort();
}

static void read_member(const struct sn_zip *zip, const struct sn_zip_member *member)
{
    SN_AUTO(sn_zip_stream_free) struct sn_zip_stream *stream = NULL;
    struct sonde_error err = {0};
    uint8_t bytes[16384];
    uint64_t total = 0;
    size_t got = 1;
    int rc = sn_zip_stream_new(zip, member, &stream, &err);
    for (unsigned i = 0; rc == SONDE_OK && got && i < READS_MAX; i++) {
        rc = sn_zip_stream_read(stream, bytes, sizeof(bytes), &got, &err);
        total += got;
    }
    check(rc, &err);
    if (rc == SONDE_OK && !sn_zip_is_cut(zip) && total > member->size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SN_AUTO(sn_close) int fd = memfd_create("zip", MFD_CLOEXEC);
    SN_AUTO(sn_zip_free) struct sn_zip *zip = NULL;
    struct sonde_error err = {0};
    if (fd < 0 || sn_file_write_all(fd, data, size, NULL) != SONDE_OK)
        abort();
    int rc = sn_zip_open(fd, "x.zip", &zip, &err);
    check(rc, &err);
    for (size_t i = 0; rc == SONDE_OK && i < sn_zip_count(zip) && i < 16; i++) {
        if (!strlen(sn_zip_member(zip, i)->name))
            abort();
        read_member(zip, sn_zip_member(zip, i));
    }
    return 0;
}
