#include "source/perf/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/tracepoint.h"

#define NAME_MAX_SIZE ((size_t)128)
#define LIST_LIMIT    (4u << 20) /* every tracepoint's name: 62 KB in Linux 6.18 */
#define NEAR_COUNT    3u

/* A mount without a place in any tree: only this descriptor leads to it (Linux 5.2). */
static int mount_for_us(void)
{
    SN_AUTO(sn_close) int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
    if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
                        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}

static int open_mounted(void)
{
    static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    int why = ENOENT;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        SN_AUTO(sn_close) int dir = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir >= 0 && faccessat(dir, "events", R_OK | X_OK, AT_EACCESS) == 0)
            return sn_take_fd(&dir);
        if (errno == EACCES || errno == EPERM)
            why = EACCES;
    }
    errno = why;
    return -1;
}

int sn_tracefs_open(int *ret_dir, struct sonde_error *err)
{
    int dir = open_mounted();
    int why = errno;
    if (dir < 0)
        dir = mount_for_us();
    if (dir < 0 && (why == EACCES || errno == EPERM || errno == EACCES))
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "tracefs, which numbers the kernel's tracepoints, is for root only; run as "
                       "root, or let this user's group read it: mount -o remount,mode=750,gid=GID "
                       "/sys/kernel/tracing");
    if (dir < 0)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "tracefs, which numbers the kernel's tracepoints, is not mounted; mount it: "
                       "mount -t tracefs tracefs /sys/kernel/tracing");
    *ret_dir = dir;
    return SONDE_OK;
}

/* --- names that are near to one that does not exist --- */

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* How many characters have to be put in, left out or changed. */
static unsigned edits(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned row[NAME_MAX_SIZE + 1];
    for (size_t j = 0; j <= b_size; j++)
        row[j] = (unsigned)j;
    for (size_t i = 0; i < a_size; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < b_size; j++) {
            unsigned changed = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = smaller(changed, smaller(diagonal, row[j]) + 1);
        }
    }
    return row[b_size];
}

struct near_name {
    char text[NAME_MAX_SIZE + 1];
    unsigned edits;
};

static void offer(struct near_name names[NEAR_COUNT], const char *text, size_t size, unsigned count)
{
    size_t place = NEAR_COUNT;
    while (place && count < names[place - 1].edits)
        place--;
    if (place == NEAR_COUNT)
        return;
    memmove(&names[place + 1], &names[place], (NEAR_COUNT - 1 - place) * sizeof(*names));
    memcpy(names[place].text, text, size);
    names[place].text[size] = '\0';
    names[place].edits = count;
}

/* ", near to it: a:b, c:d" or nothing. */
static void list_near_names(int dir, const char *name, struct sn_buf *to)
{
    SN_AUTO(sn_buf_done) struct sn_buf all = sn_buf_with_limit(LIST_LIMIT);
    struct near_name names[NEAR_COUNT] = {0};
    size_t size = strlen(name);
    for (size_t i = 0; i < NEAR_COUNT; i++)
        names[i].edits = (unsigned)size / 2 + 1; /* farther ones have nothing to do with it */
    if (sn_file_read_at(dir, "available_events", &all, NULL) != SONDE_OK)
        return;
    for (const char *at = sn_buf_string(&all); *at;) {
        size_t length = strcspn(at, "\n");
        if (length <= NAME_MAX_SIZE)
            offer(names, at, length, edits(name, size, at, length));
        at += length + (at[length] == '\n');
    }
    for (size_t i = 0; i < NEAR_COUNT && names[i].text[0]; i++)
        sn_buf_format(to, "%s%s", i ? ", " : "; near to it: ", names[i].text);
}

static int fail_unknown(int dir, const char *name, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf near_names = sn_buf_with_limit(4 * NAME_MAX_SIZE);
    list_near_names(dir, name, &near_names);
    return sn_fail(err, SONDE_E_NOT_FOUND, 0, "this kernel has no tracepoint '%s'%s", name,
                   sn_buf_string(&near_names));
}

/* Letters, digits and such only: the name becomes a path. Returns where its colon is, or NULL. */
static const char *colon_of(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t subsystem = strspn(name, allowed);
    if (!subsystem || name[subsystem] != ':')
        return NULL;
    size_t event = strspn(name + subsystem + 1, allowed);
    return event && !name[subsystem + 1 + event] && subsystem + 1 + event <= NAME_MAX_SIZE
               ? name + subsystem
               : NULL;
}

int sn_tracefs_load(int dir, const char *name, struct sn_tracepoint **ret_tracepoint,
                    struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_TRACEPOINT_TEXT_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf subsystem = sn_buf_with_limit(NAME_MAX_SIZE + 1);
    SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(2 * NAME_MAX_SIZE);
    const char *colon = colon_of(name);
    struct sonde_error why = {0};
    if (!colon)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "'%.100s' is no tracepoint: say SUBSYSTEM:NAME, such as sched:sched_switch",
                       name);
    sn_buf_append(&subsystem, name, (size_t)(colon - name));
    sn_buf_format(&path, "events/%s/%s/format", sn_buf_string(&subsystem), colon + 1);
    int rc = sn_file_read_at(dir, sn_buf_string(&path), &text, &why);
    if (rc == SONDE_E_NOT_FOUND)
        return fail_unknown(dir, name, err);
    if (rc != SONDE_OK)
        return sn_fail_because(err, &why, name);
    struct sn_buf_view whole = sn_buf_view(&text);
    return sn_tracepoint_parse(sn_buf_string(&subsystem), whole.text, whole.size, ret_tracepoint,
                               err);
}
