#include "api/stub_naming.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/record_hits.h"
#include "api/symbol_writer.h"
#include "format/perf_map.h"
#include "sonde/error.h"

#define CHUNK_SIZE 16384u

static int load(struct sn_perf_map *map, int fd)
{
    char chunk[CHUNK_SIZE];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof(chunk));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return SONDE_OK;
        int rc = sn_perf_map_take(map, chunk, (size_t)got, NULL);
        if (rc != SONDE_OK)
            return rc;
    }
}

static int name_hit(struct sn_hit *hit, const struct sn_hit_mapping *mapping,
                    struct sn_perf_map *map, struct sn_symbol_writer *writer,
                    struct sonde_error *err)
{
    struct sn_perf_map_entry found;
    if (!sn_perf_map_find(map, sn_hit_address(hit), &found))
        return SONDE_OK;
    struct sn_symbol symbol = {.pid = mapping->pid,
                               .mapping_id = mapping->id,
                               .start = found.start,
                               .size = found.size,
                               .name = found.name};
    hit->is_named = true;
    return sn_symbol_writer_put(writer, &symbol, err);
}

static int name_hits(struct sn_hits *hits, uint32_t pid, struct sn_perf_map *map,
                     struct sn_symbol_writer *writer, struct sonde_error *err)
{
    size_t count = 0;
    struct sn_hit *all = sn_hits_all(hits, &count);
    int rc = SONDE_OK;
    for (size_t i = 0; i < count && rc == SONDE_OK; i++) {
        const struct sn_hit_mapping *mapping = sn_hits_mapping(hits, all[i].mapping);
        if (!all[i].is_named && mapping && mapping->pid == pid && !mapping->object)
            rc = name_hit(&all[i], mapping, map, writer, err);
    }
    return rc;
}

int sn_stub_naming(struct sn_hits *hits, uint32_t pid, int map_fd, struct sn_symbol_writer *writer,
                   struct sonde_error *err)
{
    struct sn_perf_map *map = NULL;
    int rc = sn_perf_map_new(&map, err);
    if (rc != SONDE_OK)
        return rc;
    if (load(map, map_fd) == SONDE_OK)
        rc = name_hits(hits, pid, map, writer, err);
    sn_perf_map_free(map);
    return rc;
}
