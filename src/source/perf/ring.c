#include "source/perf/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "format/perf_record.h"

#define SMALLEST_KB 8u

static size_t power_of_two_pages(uint32_t kb, size_t page_size)
{
    size_t pages = 1;
    while (pages * 2 * page_size <= (size_t)kb * 1024)
        pages *= 2;
    return pages;
}

static int map_ring(struct sn_ring *ring, int fd, uint32_t kb)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = power_of_two_pages(kb, page_size);
    size_t size = (1 + pages) * page_size;
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return -1;
    *ring = (struct sn_ring){.page = page,
                             .mapped_size = size,
                             .data = (const uint8_t *)page + page_size,
                             .data_size = pages * page_size};
    return 0;
}

int sn_ring_open(struct sn_ring *ring, int fd, uint32_t *kb, struct sonde_error *err)
{
    while (map_ring(ring, fd, *kb) != 0) {
        bool is_too_much = errno == EPERM || errno == ENOMEM;
        if (!is_too_much || *kb / 2 < SMALLEST_KB)
            return sn_fail_errno(
                err,
                "cannot map a ring of %u KB for events of the kernel; a higher 'ulimit -l' or "
                "kernel.perf_event_mlock_kb would help",
                (unsigned)*kb);
        *kb /= 2;
    }
    *kb = (uint32_t)(ring->data_size / 1024);
    return SONDE_OK;
}

void sn_ring_close(struct sn_ring *ring)
{
    if (ring->page)
        (void)munmap(ring->page, ring->mapped_size); /* ours, so it cannot fail */
    free(ring->whole);
    *ring = (struct sn_ring){0};
}

static void give_back(struct sn_ring *ring)
{
    ring->next_size = 0;
    __atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

static const uint8_t *give_up(struct sn_ring *ring)
{
    ring->tail = ring->head;
    ring->broken_count++;
    give_back(ring);
    return NULL;
}

/* Records are read after the head that covers them: acquire here, release in give_back. */
void sn_ring_look(struct sn_ring *ring)
{
    ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    if (ring->head - ring->tail > ring->data_size) /* no kernel writes over what was not read */
        (void)give_up(ring);
}

/* A copy in one piece of a record whose end lies at the ring's start. */
static const uint8_t *join(struct sn_ring *ring, size_t at, size_t size)
{
    if (size > ring->whole_size) {
        uint8_t *larger = realloc(ring->whole, size);
        if (!larger)
            return NULL;
        ring->whole = larger;
        ring->whole_size = size;
    }
    size_t first = ring->data_size - at;
    memcpy(ring->whole, ring->data + at, first);
    memcpy(ring->whole + first, ring->data, size - first);
    return ring->whole;
}

const uint8_t *sn_ring_peek(struct sn_ring *ring, size_t *ret_size)
{
    struct sn_perf_header header;
    uint64_t left = ring->head - ring->tail;
    if (!left)
        return NULL;
    size_t at = ring->tail & (ring->data_size - 1);
    size_t straight = ring->data_size - at;
    if (!sn_perf_header_decode(ring->data + at, straight, &header) || header.size > left)
        return give_up(ring);
    const uint8_t *record = ring->data + at;
    if (header.size > straight)
        record = join(ring, at, header.size);
    if (!record)
        return give_up(ring);
    ring->next_size = header.size;
    *ret_size = header.size;
    return record;
}

void sn_ring_pass(struct sn_ring *ring)
{
    ring->tail += ring->next_size;
    give_back(ring);
}
