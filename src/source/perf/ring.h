/* One perf_event ring, mapped: records out, in the order in which the kernel wrote them. One
 * reader. What the ring holds is not trusted: a header that lies makes the reader go on where the
 * kernel will write next. */
#ifndef SN_RING_H
#define SN_RING_H

#include <stddef.h>
#include <stdint.h>

struct perf_event_mmap_page;
struct sonde_error;

struct sn_ring {
    struct perf_event_mmap_page *page; /* owns the mapping; NULL: closed */
    size_t mapped_size;
    const uint8_t *data;
    uint64_t data_size; /* a power of two */
    uint64_t tail;      /* the next record */
    uint64_t head;      /* up to here, as of the last look */
    uint16_t next_size; /* of the record that was peeked at; 0: none yet */
    uint8_t *whole;     /* owns: a record that goes over the ring's end, in one piece */
    size_t whole_size;
    uint64_t broken_count; /* how often the rest was given up */
};

/* Maps the ring of event `fd`: `*kb` kilobytes, halved until the kernel grants them; *kb then says
 * how many these are. */
int sn_ring_open(struct sn_ring *ring, int fd, uint32_t *kb, struct sonde_error *err);
void sn_ring_close(struct sn_ring *ring); /* accepts a closed one */

/* Sees what the kernel has written by now. */
void sn_ring_look(struct sn_ring *ring);

/* The next whole record, borrowed until sn_ring_pass, or NULL when all were seen. */
const uint8_t *sn_ring_peek(struct sn_ring *ring, size_t *ret_size);

/* Gives the place of the record that was peeked at back to the kernel. */
void sn_ring_pass(struct sn_ring *ring);

#endif
