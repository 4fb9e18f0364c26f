#include "daemon/key_ring.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"

struct sn_key_ring {
    char *folder; /* owns */
    char *path;   /* owns */
    struct stat seen;
    bool is_read;
    struct sn_key_list list;
    struct sonde_error problem; /* the file cannot be read: no key counts */
};

void sn_key_ring_free(struct sn_key_ring *ring)
{
    if (!ring)
        return;
    sn_key_list_done(&ring->list);
    free(ring->folder);
    free(ring->path);
    free(ring);
}

int sn_key_ring_new(const char *folder, struct sn_key_ring **ret_ring, struct sonde_error *err)
{
    struct sn_key_ring *ring = calloc(1, sizeof(*ring));
    if (ring)
        ring->folder = strdup(folder);
    if (!ring || !ring->folder || asprintf(&ring->path, "%s/keys", folder) < 0) {
        if (ring)
            ring->path = NULL;
        sn_key_ring_free(ring);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for keys");
    }
    *ret_ring = ring;
    return SONDE_OK;
}

static struct sn_key *find_id(const struct sn_key_list *list, const char *id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->keys[i].id, id) == 0)
            return &list->keys[i];
    }
    return NULL;
}

/* Files are replaced, never written over: another number, or another time. */
static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* When they were used is known here only. */
static void carry_over(const struct sn_key_list *from, struct sn_key_list *to)
{
    for (size_t i = 0; i < from->count; i++) {
        struct sn_key *same = from->keys[i].used_s ? find_id(to, from->keys[i].id) : NULL;
        if (same && sn_token_is_same(same->hash, from->keys[i].hash))
            same->used_s = from->keys[i].used_s;
    }
}

static void look_again(struct sn_key_ring *ring)
{
    struct stat now = {0};
    if (stat(ring->path, &now) != 0)
        now = (struct stat){0};
    if (ring->is_read && is_same_file(&now, &ring->seen))
        return;
    struct sn_key_list list = {0};
    ring->problem = (struct sonde_error){0};
    (void)sn_key_file_read(ring->folder, &list, &ring->problem);
    carry_over(&ring->list, &list);
    sn_key_list_done(&ring->list);
    ring->list = list;
    ring->seen = now;
    ring->is_read = true;
}

const struct sn_key *sn_key_ring_find(struct sn_key_ring *ring, const char *token, size_t size,
                                      const char **ret_why)
{
    uint8_t hash[SN_HASH_SIZE];
    struct sn_key *found = NULL;
    uint64_t now_s = sn_clock_utc_ns() / SN_NS_PER_SECOND;
    look_again(ring);
    *ret_why = ring->problem.status ? ring->problem.text : "this key is not known";
    if (!sn_token_hash(token, size, hash))
        return NULL;
    for (size_t i = 0; i < ring->list.count; i++) {
        if (sn_token_is_same(hash, ring->list.keys[i].hash))
            found = &ring->list.keys[i];
    }
    if (found && found->expires_s && found->expires_s <= now_s) {
        *ret_why = "this key has expired";
        return NULL;
    }
    if (found)
        found->used_s = now_s;
    return found;
}

const struct sn_key *sn_key_ring_get(struct sn_key_ring *ring, const char *id)
{
    uint64_t now_s = sn_clock_utc_ns() / SN_NS_PER_SECOND;
    look_again(ring);
    struct sn_key *key = find_id(&ring->list, id);
    if (!key || (key->expires_s && key->expires_s <= now_s))
        return NULL;
    key->used_s = now_s;
    return key;
}

size_t sn_key_ring_list(struct sn_key_ring *ring, const struct sn_key **ret_keys,
                        const char **ret_problem)
{
    look_again(ring);
    *ret_problem = ring->problem.status ? ring->problem.text : "";
    *ret_keys = ring->list.keys;
    return ring->list.count;
}
