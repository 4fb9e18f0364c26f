#include "daemon/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "daemon/state_folder.h"
#include "net/tls.h"

#define KEYS        "keys"
#define TOKEN       "key"
#define TITLE       "# sonde keys: id name scope sha256 created expires\n"
#define FILE_LIMIT  ((size_t)SN_KEY_COUNT_MAX * 256)
#define HASH_DIGITS ((size_t)2 * SN_HASH_SIZE)
#define ID_BYTES    4u
#define LINE_PARTS  6u

void sn_key_list_done(struct sn_key_list *list)
{
    free(list->keys);
    *list = (struct sn_key_list){0};
}

/* --- reading --- */

static bool is_name(const char *text)
{
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789._@-");
    return size && size <= SN_KEY_NAME_MAX && !text[size];
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

static bool read_line(char *line, struct sn_key *ret_key)
{
    char *parts[LINE_PARTS];
    size_t count = 0;
    char *rest = NULL;
    for (char *part = strtok_r(line, " ", &rest); part; part = strtok_r(NULL, " ", &rest)) {
        if (count == LINE_PARTS)
            return false;
        parts[count++] = part;
    }
    struct sn_key key = {0};
    int scope = count == LINE_PARTS ? sn_scope_find(parts[2]) : -1;
    if (scope <= SN_SCOPE_NONE || strlen(parts[0]) >= sizeof(key.id) || !is_name(parts[1]) ||
        !read_hash(parts[3], key.hash) || !sn_text_to_u64(parts[4], UINT64_MAX, &key.created_s) ||
        !sn_text_to_u64(parts[5], UINT64_MAX, &key.expires_s))
        return false;
    (void)snprintf(key.id, sizeof(key.id), "%s", parts[0]);
    (void)snprintf(key.name, sizeof(key.name), "%s", parts[1]);
    key.scope = (enum sn_scope)scope;
    *ret_key = key;
    return true;
}

static int check_file(int fd, const char *folder, struct sonde_error *err)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return sn_fail_errno(err, "cannot look at %.200s/" KEYS, folder);
    if (!S_ISREG(facts.st_mode) || facts.st_mode & (S_IWGRP | S_IWOTH) ||
        (facts.st_uid != geteuid() && facts.st_uid != 0))
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "%.200s/" KEYS " can be written by others: no key in it counts; see to its "
                       "owner and 'chmod 600' it",
                       folder);
    return SONDE_OK;
}

static int read_lines(struct sn_buf *text, struct sn_key_list *list, struct sonde_error *err)
{
    unsigned number = 0;
    char *rest = NULL;
    (void)sn_buf_string(text);
    if (text->failed)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the keys file");
    if (memchr(text->bytes, '\0', text->size))
        return sn_fail(err, SONDE_E_FORMAT, 0, "the keys file is no text");
    for (char *line = strtok_r((char *)text->bytes, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        number++;
        if (*line == '#')
            continue;
        if (list->count == SN_KEY_COUNT_MAX)
            return sn_fail(err, SONDE_E_LIMIT, number, "there are more than %u keys",
                           SN_KEY_COUNT_MAX);
        if (!read_line(line, &list->keys[list->count]))
            return sn_fail(err, SONDE_E_FORMAT, number,
                           "line %u of the keys file is no key: take it out, or restore the file",
                           number);
        list->count++;
    }
    return SONDE_OK;
}

static int read_all(int fd, struct sn_buf *text, struct sonde_error *err)
{
    for (;;) {
        uint8_t *to = sn_buf_reserve(text, 4096);
        ssize_t got = to ? read(fd, to, 4096) : 0;
        if (!to)
            return sn_fail(err, SONDE_E_LIMIT, 0, "the keys file is too large");
        if (got < 0 && errno != EINTR)
            return sn_fail_errno(err, "cannot read the keys file");
        if (got == 0)
            return SONDE_OK;
        sn_buf_grow(text, got > 0 ? (size_t)got : 0);
    }
}

int sn_key_file_read(const char *folder, struct sn_key_list *ret_list, struct sonde_error *err)
{
    char path[4096];
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(FILE_LIMIT);
    SN_AUTO(sn_key_list_done) struct sn_key_list list = {0};
    if ((size_t)snprintf(path, sizeof(path), "%s/" KEYS, folder) >= sizeof(path))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the path of the state folder is too long");
    SN_AUTO(sn_close) int fd = sn_file_open_regular_at(AT_FDCWD, path);
    if (fd < 0 && errno == ENOENT) {
        *ret_list = list;
        return SONDE_OK;
    }
    if (fd < 0)
        return sn_fail_errno(err, "cannot read %.200s", path);
    list.keys = calloc(SN_KEY_COUNT_MAX, sizeof(*list.keys));
    int rc = list.keys ? check_file(fd, folder, err)
                       : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for keys");
    if (rc == SONDE_OK)
        rc = read_all(fd, &text, err);
    if (rc == SONDE_OK && text.size)
        rc = read_lines(&text, &list, err);
    if (rc != SONDE_OK)
        return rc;
    *ret_list = list;
    list.keys = NULL;
    return SONDE_OK;
}

/* --- writing --- */

/* Held while the file is read, changed and replaced. */
static int lock_folder(const char *folder, int *ret_fd, struct sonde_error *err)
{
    int rc = sn_state_folder_make(folder, err);
    if (rc != SONDE_OK)
        return rc;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return sn_fail_errno(err, "cannot open the folder %.200s", folder);
    if (flock(fd, LOCK_EX) != 0) {
        sn_close(fd);
        return sn_fail_errno(err, "cannot lock the folder %.200s", folder);
    }
    *ret_fd = fd;
    return SONDE_OK;
}

static int write_list(int folder, const struct sn_key_list *list, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(FILE_LIMIT);
    sn_buf_text(&text, TITLE);
    for (size_t i = 0; i < list->count; i++) {
        const struct sn_key *key = &list->keys[i];
        sn_buf_format(&text, "%s %s %s ", key->id, key->name, sn_scope_name(key->scope));
        for (size_t n = 0; n < SN_HASH_SIZE; n++)
            sn_buf_format(&text, "%02x", key->hash[n]);
        sn_buf_format(&text, " %llu %llu\n", (unsigned long long)key->created_s,
                      (unsigned long long)key->expires_s);
    }
    return sn_file_replace_at(folder, KEYS, &text, err);
}

static struct sn_key *find_id(const struct sn_key_list *list, const char *id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->keys[i].id, id) == 0)
            return &list->keys[i];
    }
    return NULL;
}

static struct sn_key *find(const struct sn_key_list *list, const char *which)
{
    struct sn_key *found = find_id(list, which);
    if (found)
        return found;
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->keys[i].name, which) == 0)
            return &list->keys[i];
    }
    return NULL;
}

static int append(struct sn_key_list *list, const struct sn_key *key, struct sonde_error *err)
{
    if (!list->keys)
        list->keys = calloc(SN_KEY_COUNT_MAX, sizeof(*list->keys));
    if (!list->keys)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for keys");
    if (list->count == SN_KEY_COUNT_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "there are %u keys already: revoke some",
                       SN_KEY_COUNT_MAX);
    list->keys[list->count++] = *key;
    return SONDE_OK;
}

static void take_out(struct sn_key_list *list, const struct sn_key *key)
{
    if (!list->keys)
        return;
    size_t at = (size_t)(key - list->keys);
    memmove(&list->keys[at], &list->keys[at + 1], (list->count - at - 1) * sizeof(*list->keys));
    list->count--;
}

static int new_key(struct sn_key *key, char token[SN_TOKEN_SIZE], struct sonde_error *err)
{
    key->created_s = sn_clock_utc_ns() / SN_NS_PER_SECOND;
    int rc = sn_token_new(SN_TOKEN_PREFIX, token, err);
    if (rc == SONDE_OK && !sn_token_hash(token, strlen(token), key->hash))
        rc = sn_fail(err, SONDE_E_UNSUPPORTED, 0, "no SHA-256 on this machine");
    return rc;
}

int sn_key_file_add(const char *folder, struct sn_key *key, char ret_token[SN_TOKEN_SIZE],
                    struct sonde_error *err)
{
    SN_AUTO(sn_close) int lock = -1;
    SN_AUTO(sn_key_list_done) struct sn_key_list list = {0};
    if (key->name[0] && !is_name(key->name))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "a name of a key has up to %u letters, digits and . _ @ -", SN_KEY_NAME_MAX);
    if (strcmp(key->name, SN_KEY_DEFAULT) == 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "the name '" SN_KEY_DEFAULT "' is that of the controller's own key: choose "
                       "another");
    int rc = lock_folder(folder, &lock, err);
    if (rc == SONDE_OK)
        rc = sn_key_file_read(folder, &list, err);
    if (rc == SONDE_OK)
        rc = sn_token_hex(key->id, ID_BYTES, err);
    if (rc == SONDE_OK && !key->name[0])
        (void)snprintf(key->name, sizeof(key->name), "%s", key->id);
    if (rc == SONDE_OK && (find(&list, key->name) || find(&list, key->id)))
        rc = sn_fail(err, SONDE_E_BUSY, 0, "there is a key of the name %s: revoke it first",
                     key->name);
    if (rc == SONDE_OK)
        rc = new_key(key, ret_token, err);
    if (rc == SONDE_OK)
        rc = append(&list, key, err);
    return rc == SONDE_OK ? write_list(lock, &list, err) : rc;
}

int sn_key_file_revoke(const char *folder, const char *which, struct sn_key *ret_key,
                       struct sonde_error *err)
{
    SN_AUTO(sn_close) int lock = -1;
    SN_AUTO(sn_key_list_done) struct sn_key_list list = {0};
    int rc = lock_folder(folder, &lock, err);
    if (rc == SONDE_OK)
        rc = sn_key_file_read(folder, &list, err);
    if (rc != SONDE_OK)
        return rc;
    const struct sn_key *key = find(&list, which);
    if (!key)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "no key has the id or name %.100s; 'sonde key list' shows them", which);
    *ret_key = *key;
    take_out(&list, key);
    rc = write_list(lock, &list, err);
    if (rc == SONDE_OK && strcmp(ret_key->id, SN_KEY_DEFAULT) == 0)
        (void)unlinkat(lock, TOKEN, 0);
    return rc;
}

/* --- the key of the machine's own programs --- */

static bool is_token_of(int folder, const struct sn_key *key)
{
    char token[SN_TOKEN_SIZE];
    uint8_t hash[SN_HASH_SIZE];
    struct stat facts;
    if (!key || key->scope != SN_SCOPE_SECRETS || fstatat(folder, TOKEN, &facts, 0) != 0 ||
        facts.st_mode & 077)
        return false;
    long size = sn_file_peek_at(folder, TOKEN, token, sizeof(token) - 1);
    if (size <= 0)
        return false;
    token[strcspn(token, "\n")] = '\0';
    return sn_token_hash(token, strlen(token), hash) && sn_token_is_same(hash, key->hash);
}

static int make_default(int folder, struct sn_key_list *list, struct sonde_error *err)
{
    char token[SN_TOKEN_SIZE];
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_TOKEN_SIZE + 1);
    struct sn_key key = {.id = SN_KEY_DEFAULT, .name = SN_KEY_DEFAULT, .scope = SN_SCOPE_SECRETS};
    int rc = new_key(&key, token, err);
    if (rc != SONDE_OK)
        return rc;
    sn_buf_format(&text, "%s\n", token);
    rc = append(list, &key, err);
    if (rc == SONDE_OK)
        rc = sn_file_replace_at(folder, TOKEN, &text, err);
    return rc == SONDE_OK ? write_list(folder, list, err) : rc;
}

int sn_key_file_default(const char *folder, struct sonde_error *err)
{
    SN_AUTO(sn_close) int lock = -1;
    SN_AUTO(sn_key_list_done) struct sn_key_list list = {0};
    int rc = sn_tls_start(err);
    if (rc == SONDE_OK)
        rc = lock_folder(folder, &lock, err);
    if (rc == SONDE_OK)
        rc = sn_key_file_read(folder, &list, err);
    if (rc != SONDE_OK)
        return rc;
    const struct sn_key *key = find_id(&list, SN_KEY_DEFAULT); /* one of that name is a user's */
    if (is_token_of(lock, key))
        return SONDE_OK;
    if (key)
        take_out(&list, key);
    return make_default(lock, &list, err);
}
