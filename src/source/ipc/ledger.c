#include "source/ipc/ledger.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/own.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "sonde/error.h"
#include "source/ipc/discover.h"
#include "source/ipc/neighbour.h"

#define PREFIX "session-"
#define TRIES  5u /* at a file that others remove meanwhile */

/* --- bytes --- */

void sn_ledger_encode(const struct sn_ledger_entry *entry, struct sn_buf *buf)
{
    sn_buf_format(buf,
                  "sonde session 1\nboot=%s\nnetwork=%" PRIu64 "\npid=%d\nstart=%" PRIu64
                  "\nid=%" PRIu64 "\nsocket=%" PRIu32 "\ncookie=%" PRIu64 "\n",
                  entry->boot, entry->network, entry->pid, entry->start_ticks, entry->session_id,
                  entry->end.inode, entry->end.cookie);
}

/* The value of the next line, which must be `key`'s; false: it is not, or too long. */
static bool next_value(const char **at, const char *end, const char *key, char *to, size_t size)
{
    size_t key_size = strlen(key);
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    if (!newline || (size_t)(newline - *at) < key_size || memcmp(*at, key, key_size) != 0)
        return false;
    size_t value_size = (size_t)(newline - *at) - key_size;
    if (value_size >= size || memchr(*at + key_size, '\0', value_size))
        return false;
    memcpy(to, *at + key_size, value_size);
    to[value_size] = '\0';
    *at = newline + 1;
    return true;
}

static bool next_number(const char **at, const char *end, const char *key, uint64_t most,
                        uint64_t *ret_number)
{
    char text[24];
    return next_value(at, end, key, text, sizeof(text)) && sn_text_to_u64(text, most, ret_number);
}

static bool is_boot_id(const char *text)
{
    return strlen(text) == SN_BOOT_SIZE - 1 &&
           strspn(text, "0123456789abcdef-") == SN_BOOT_SIZE - 1;
}

bool sn_ledger_decode(const void *bytes, size_t size, struct sn_ledger_entry *ret_entry)
{
    struct sn_ledger_entry entry = {0};
    uint64_t pid = 0;
    uint64_t inode = 0;
    const char *at = bytes;
    const char *end = at + size;
    char none[1];
    if (!size || size > SN_LEDGER_SIZE ||
        !next_value(&at, end, "sonde session 1", none, sizeof(none)) ||
        !next_value(&at, end, "boot=", entry.boot, sizeof(entry.boot)) || !is_boot_id(entry.boot) ||
        !next_number(&at, end, "network=", UINT64_MAX, &entry.network) ||
        !next_number(&at, end, "pid=", INT32_MAX, &pid) || !pid ||
        !next_number(&at, end, "start=", UINT64_MAX, &entry.start_ticks) ||
        !next_number(&at, end, "id=", UINT64_MAX, &entry.session_id) ||
        !next_number(&at, end, "socket=", UINT32_MAX, &inode) || !inode ||
        !next_number(&at, end, "cookie=", UINT64_MAX, &entry.end.cookie) || at != end)
        return false;
    entry.pid = (int)pid;
    entry.end.inode = (uint32_t)inode;
    *ret_entry = entry;
    return true;
}

static void read_boot_id(char to[SN_BOOT_SIZE])
{
    long size = sn_file_peek_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", to, SN_BOOT_SIZE);
    if (size < 0)
        *to = '\0';
}

/* --- names --- */

const char *sn_ledger_prefix(const struct sn_ipc_target *target, char to[SN_LEDGER_NAME_SIZE])
{
    (void)snprintf(to, SN_LEDGER_NAME_SIZE, PREFIX "%d@%" PRIu64 "-", target->pid,
                   target->start_ticks);
    return to;
}

int sn_ledger_name_pid(const char *name)
{
    char digits[12];
    uint64_t pid = 0;
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return 0;
    const char *number = name + strlen(PREFIX);
    size_t size = strspn(number, "0123456789");
    if (size >= sizeof(digits) || number[size] != '@')
        return 0;
    memcpy(digits, number, size);
    digits[size] = '\0';
    return sn_text_to_u64(digits, INT32_MAX, &pid) ? (int)pid : 0;
}

/* The name that the kernel has for it, by which it is removed. */
static struct sn_ledger_note note_of(int file)
{
    struct sn_ledger_note note = {.is_held = true, .fd = file};
    char link[32];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, note.path, sizeof(note.path) - 1);
    note.path[size > 0 ? size : 0] = '\0';
    return note;
}

/* --- our own --- */

/* A file under our lock that has its name still. -1: it cannot be had. */
static int make_locked(int folder, const char *name)
{
    for (unsigned i = 0; i < TRIES; i++) {
        SN_AUTO(sn_close) int file = sn_run_file_open(folder, name, O_CREAT);
        if (file < 0)
            return -1;
        /* Held by who found it empty and removes it. */
        if (flock(file, LOCK_EX | LOCK_NB) == 0 && sn_run_file_is(folder, name, file))
            return sn_take_fd(&file);
    }
    return -1;
}

static void write_entry(struct sn_ledger_note *note, const struct sn_ledger_entry *entry)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_LEDGER_SIZE);
    sn_ledger_encode(entry, &text);
    if (text.failed || ftruncate(note->fd, 0) != 0 ||
        sn_file_write_all(note->fd, text.bytes, text.size, NULL) != SONDE_OK)
        sn_ledger_strike(note);
}

void sn_ledger_enter(struct sn_ledger_note *note, const struct sn_ipc_target *target,
                     uint64_t session_id, int stream)
{
    struct sn_ledger_entry entry = {
        .network = sn_stream_network(),
        .pid = target->pid,
        .start_ticks = target->start_ticks,
        .session_id = session_id,
    };
    char prefix[SN_LEDGER_NAME_SIZE];
    char name[SN_LEDGER_NAME_SIZE + 12];
    *note = (struct sn_ledger_note){.fd = -1};
    read_boot_id(entry.boot);
    if (!is_boot_id(entry.boot) || !sn_stream_end_of(stream, &entry.end))
        return;
    SN_AUTO(sn_close) int folder = sn_run_folder_make();
    if (folder < 0)
        return;
    (void)snprintf(name, sizeof(name), "%s%" PRIu32, sn_ledger_prefix(target, prefix),
                   entry.end.inode);
    int file = make_locked(folder, name);
    if (file < 0)
        return;
    *note = note_of(file);
    write_entry(note, &entry);
}

void sn_ledger_leave(struct sn_ledger_note *note)
{
    if (note->is_held)
        sn_close(sn_take_fd(&note->fd));
    note->is_held = false;
}

void sn_ledger_strike(struct sn_ledger_note *note)
{
    if (note->is_held && *note->path)
        (void)unlink(note->path); /* one that stays is found to be over */
    sn_ledger_leave(note);
}

struct sn_ledger_note sn_ledger_take(struct sn_ledger_note *note)
{
    struct sn_ledger_note taken = *note;
    note->is_held = false;
    return taken;
}

/* --- what others have left --- */

/* Nobody but this user may have written it. */
static bool is_trusted(int file)
{
    struct stat found;
    return fstat(file, &found) == 0 && found.st_uid == geteuid() && !(found.st_mode & 022) &&
           found.st_nlink == 1;
}

static enum sn_ledger_state judge_entry(const struct sn_ledger_entry *entry,
                                        const struct sn_ipc_target *target)
{
    char boot[SN_BOOT_SIZE];
    read_boot_id(boot);
    if (strcmp(boot, entry->boot) != 0)
        return SN_LEDGER_OVER;
    if (entry->pid != target->pid || entry->start_ticks != target->start_ticks)
        return SN_LEDGER_OVER; /* not what its name says */
    if (entry->network != sn_stream_network())
        return SN_LEDGER_OWNED;
    switch (sn_stream_end_state(&entry->end)) {
    case SN_STREAM_CLOSED: return SN_LEDGER_OVER;
    case SN_STREAM_ALONE: break;
    default: return SN_LEDGER_OWNED;
    }
    bool is_its = sn_ipc_is_neighbour(target->pid) || sn_stream_end_is_of(&entry->end, target->pid);
    return is_its ? SN_LEDGER_ORPHAN : SN_LEDGER_OWNED;
}

/* The file under our lock, or -1: it has an owner, or is not to be trusted. */
static int lock_left(int folder, const char *name)
{
    SN_AUTO(sn_close) int file = sn_run_file_open(folder, name, 0);
    bool is_free = file >= 0 && is_trusted(file) && flock(file, LOCK_EX | LOCK_NB) == 0 &&
                   sn_run_file_is(folder, name, file);
    return is_free ? sn_take_fd(&file) : -1;
}

enum sn_ledger_state sn_ledger_judge(int folder, const char *name,
                                     const struct sn_ipc_target *target,
                                     struct sn_ledger_note *ret_note, uint64_t *ret_session_id)
{
    char bytes[SN_LEDGER_SIZE + 1];
    struct sn_ledger_entry entry;
    int file = lock_left(folder, name);
    if (file < 0)
        return SN_LEDGER_OWNED;
    struct sn_ledger_note note = note_of(file);
    size_t size = sn_file_read_from(file, 0, bytes, sizeof(bytes));
    enum sn_ledger_state state =
        sn_ledger_decode(bytes, size, &entry) ? judge_entry(&entry, target) : SN_LEDGER_OVER;
    if (state == SN_LEDGER_OWNED) {
        sn_ledger_leave(&note);
        return state;
    }
    *ret_note = note;
    *ret_session_id = state == SN_LEDGER_ORPHAN ? entry.session_id : 0;
    return state;
}

void sn_ledger_remove_left(int folder, const char *name)
{
    SN_AUTO(sn_close) int file = lock_left(folder, name);
    if (file >= 0)
        (void)unlinkat(folder, name, 0);
}
