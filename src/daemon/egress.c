#include "daemon/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "daemon/serve.h"

const char *sn_egress_folder(const struct sn_serve_options *options, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; size && i < options->egress_count; i++) {
        const char *text = options->egress[i];
        if (strncmp(text, name, size) == 0 && text[size] == '=')
            return text + size + 1;
    }
    return NULL;
}

int sn_egress_check(const char *text, struct sonde_error *err)
{
    const char *equals = strchr(text, '=');
    struct stat status;
    if (!equals || equals == text || equals[1] != '/')
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--egress: '%.64s' is not NAME=FOLDER with the whole path of a folder",
                       text);
    if (stat(equals + 1, &status) != 0)
        return sn_fail_errno(err, "--egress: cannot look at %s", equals + 1);
    if (!S_ISDIR(status.st_mode))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--egress: %s is no folder", equals + 1);
    return SONDE_OK;
}

static int copy_as(int folder, const char *path, const char *name, struct sonde_error *err)
{
    SN_AUTO(sn_close) int from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (from < 0)
        return sn_fail_errno(err, "cannot open %s", path);
    SN_AUTO(sn_close)
    int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to < 0)
        return sn_fail_errno(err, "cannot make a file in the folder of that egress");
    int rc = sn_file_copy(from, to, err);
    if (rc == SONDE_OK && fsync(to) != 0)
        rc = sn_fail_errno(err, "cannot save it");
    return rc;
}

/* Whole or not at all: it is made under another name, and gets its own at the end. */
static bool name_it(int folder, const char *partial, const char *name)
{
    return linkat(folder, partial, folder, name, 0) == 0 ||
           (errno != EEXIST && renameat2(folder, partial, folder, name, RENAME_NOREPLACE) == 0);
}

int sn_egress_save(const struct sn_egress_order *order, char *to, size_t size,
                   struct sonde_error *err)
{
    char partial[64];
    char other[NAME_MAX + 1];
    (void)snprintf(partial, sizeof(partial), ".%s.partial", order->id);
    (void)snprintf(other, sizeof(other), "%s_%s", order->id, order->name);
    SN_AUTO(sn_close) int folder = open(order->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return sn_fail_errno(err, "cannot open the folder of that egress, %s", order->folder);
    int rc = copy_as(folder, order->path, partial, err);
    const char *name = order->name;
    if (rc == SONDE_OK && !name_it(folder, partial, name)) {
        name = other;
        if (!name_it(folder, partial, name))
            rc = sn_fail_errno(err, "cannot name %s in %s", order->name, order->folder);
    }
    (void)unlinkat(folder, partial, 0);
    (void)snprintf(to, size, "%s/%s", order->folder, name);
    return rc;
}
