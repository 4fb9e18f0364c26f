/* What is in the store, in a few numbers, and the limits that it has. */
#include <sys/statvfs.h>

#include "sink/store/store_sql.h"
#include "sink/store/store_state.h"

/* 0 when there is none, or it cannot be read now. */
static uint64_t number(struct sn_store *store, const char *sql)
{
    int64_t found = 0;
    if (!store->db || sn_store_sql_number(store->db, sql, &found, NULL) != SONDE_OK)
        return 0;
    return found > 0 ? (uint64_t)found : 0;
}

static uint64_t free_bytes(const struct sn_store *store)
{
    struct statvfs disk;
    return statvfs(store->folder, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
}

void sn_store_numbers(struct sn_store *store, struct sn_store_numbers *ret_numbers)
{
    uint64_t chunk_ns = SN_STORE_NS_PER_MS * number(store, "SELECT min(first_ms) FROM process");
    uint64_t recording_ns = number(store, "SELECT min(created_ns) FROM recording");
    bool is_chunk = chunk_ns && (!recording_ns || chunk_ns < recording_ns);
    *ret_numbers = (struct sn_store_numbers){
        .bytes_max = store->bytes_max,
        .age_max_ns = store->age_max_ns,
        .free_bytes = free_bytes(store),
        .oldest_utc_ns = is_chunk ? chunk_ns : recording_ns,
        .process_count = number(store, "SELECT count(*) FROM process"),
        .series_count = number(store, "SELECT count(*) FROM series"),
        .recording_count = number(store, "SELECT count(*) FROM recording"),
        .recording_bytes = number(store, "SELECT sum(bytes) FROM recording"),
    };
}

void sn_store_limit(struct sn_store *store, uint64_t bytes_max, uint64_t age_max_ns)
{
    if (bytes_max)
        store->bytes_max = bytes_max;
    if (age_max_ns)
        store->age_max_ns = age_max_ns;
}
