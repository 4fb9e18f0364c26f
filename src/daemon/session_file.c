#include "daemon/session_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"

#define NAME        "sessions"
#define NEW_NAME    ".sessions.new"
#define FILE_LIMIT  16384u
#define HASH_DIGITS ((size_t)2 * SN_HASH_SIZE)
#define NO_KEY      "-" /* let in by a code */

static int open_folder(const char *folder)
{
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static uint64_t utc_s_of(uint64_t monotonic_ns)
{
    return (sn_clock_utc_ns() - (sn_clock_monotonic_ns() - monotonic_ns)) / SN_NS_PER_SECOND;
}

static void put_line(struct sn_buf *text, const struct sn_session_secret *one)
{
    for (size_t i = 0; i < SN_HASH_SIZE; i++)
        sn_buf_format(text, "%02x", one->hash[i]);
    sn_buf_format(text, " %s %" PRIu64 " %" PRIu64 "\n", one->key_id[0] ? one->key_id : NO_KEY,
                  utc_s_of(one->made_ns), utc_s_of(one->used_ns));
}

/* Not sn_file_replace_at, which waits for the disk: this is done while others are served, and a
 * session that a power failure takes is begun again. */
static void replace(int folder, const struct sn_buf *text)
{
    (void)unlinkat(folder, NEW_NAME, 0);
    SN_AUTO(sn_close)
    int fd = openat(folder, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    if (text->failed || sn_file_write_all(fd, text->bytes, text->size, NULL) != SONDE_OK ||
        renameat(folder, NEW_NAME, folder, NAME) != 0)
        (void)unlinkat(folder, NEW_NAME, 0);
}

void sn_session_file_save(const char *folder, const struct sn_session_table *table)
{
    SN_AUTO(sn_close) int fd = open_folder(folder);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(FILE_LIMIT);
    for (size_t i = 0; i < SN_SESSION_COUNT_MAX; i++) {
        if (table->sessions[i].id)
            put_line(&text, &table->sessions[i]);
    }
    if (fd >= 0)
        replace(fd, &text); /* else they end with us */
}

static bool read_hash(const char *text, uint8_t to[SN_HASH_SIZE])
{
    if (strlen(text) != HASH_DIGITS || strspn(text, "0123456789abcdef") != HASH_DIGITS)
        return false;
    for (size_t i = 0; i < SN_HASH_SIZE; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
        to[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

/* Over by its age or by idleness, or of a clock that was set back. */
static bool is_over(uint64_t now_s, uint64_t made_s, uint64_t used_s)
{
    return made_s > now_s || used_s > now_s ||
           now_s - made_s > SN_SESSION_LIFE_MAX_NS / SN_NS_PER_SECOND ||
           now_s - used_s > SN_SESSION_IDLE_MAX_NS / SN_NS_PER_SECOND;
}

static bool take_line(struct sn_session_table *table, char *line)
{
    struct sn_session_secret one = {0};
    uint64_t made_s = 0;
    uint64_t used_s = 0;
    uint64_t now_s = sn_clock_utc_ns() / SN_NS_PER_SECOND;
    const char *hash = strsep(&line, " ");
    const char *key_id = strsep(&line, " ");
    const char *made = strsep(&line, " ");
    if (!line || strlen(key_id) >= sizeof(one.key_id) || !read_hash(hash, one.hash) ||
        !sn_text_to_u64(made, UINT64_MAX, &made_s) || !sn_text_to_u64(line, UINT64_MAX, &used_s))
        return false;
    if (is_over(now_s, made_s, used_s))
        return true;
    if (strcmp(key_id, NO_KEY) != 0)
        (void)snprintf(one.key_id, sizeof(one.key_id), "%s", key_id);
    uint64_t now_ns = sn_clock_monotonic_ns(); /* ages are differences: they may wrap */
    one.made_ns = now_ns - (now_s - made_s) * SN_NS_PER_SECOND;
    one.used_ns = now_ns - (now_s - used_s) * SN_NS_PER_SECOND;
    one.id = ++table->last_id;
    table->sessions[one.id - 1] = one;
    return true;
}

void sn_session_file_load(const char *folder, struct sn_session_table *table)
{
    SN_AUTO(sn_close) int fd = open_folder(folder);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(FILE_LIMIT);
    if (fd < 0 || sn_file_read_at(fd, NAME, &text, NULL) != SONDE_OK || !text.size)
        return;
    (void)sn_buf_string(&text);
    if (text.failed)
        return;
    char *rest = (char *)text.bytes;
    for (char *line; table->last_id < SN_SESSION_COUNT_MAX && (line = strsep(&rest, "\n"));) {
        if (!rest || !take_line(table, line)) /* no line without its end is whole */
            return;
    }
}
