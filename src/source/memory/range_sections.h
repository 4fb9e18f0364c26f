/* The runtime's map of where its code lies: which range holds an address, and of which sort it is.
 * Private to the code map's files and to the proofs of what they read.
 */
#ifndef SN_RANGE_SECTIONS_H
#define SN_RANGE_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct sn_code_reader;

struct sn_range_section {
    uint64_t address; /* of the RangeSection */
    uint64_t begin;
    uint64_t end;
    uint64_t heap;   /* code that was compiled here: its heap; or 0 */
    uint64_t module; /* precompiled: its Module; or 0. Neither: a range of stubs */
};

/* False: no range holds it. */
bool sn_range_sections_find(struct sn_code_reader *reader, uint64_t address,
                            struct sn_range_section *ret_section);

/* The next range from *piece (of 128 KB each, from 0) on, at most one of a piece; moves *piece
 * behind it. False: there is none, or no more may be read. */
bool sn_range_sections_next(struct sn_code_reader *reader, uint64_t *piece,
                            struct sn_range_section *ret_section);

#endif
