#include "source/memory/exception_clauses.h"

#include "source/memory/code_layout.h"
#include "source/memory/code_map.h"
#include "source/memory/ready_to_run.h"

#define CLAUSES_MAX 4096u
#define KIND_MASK   7u
#define KIND_FILTER 1u

/* What comes first in a clause, and where the filter's start is, relative to the method's. */
#define CLAUSE_KIND       0u
#define JIT_CLAUSE_SIZE   32u
#define JIT_CLAUSE_FILTER 24u
#define JIT_CLAUSES_AT    8u /* behind the start of the information; their number is 8 before it */
#define CLAUSE_SIZE       24u
#define CLAUSE_FILTER     20u

/* Of an image: where methods start and where their clauses are, up to those of the next. */
struct entry {
    uint32_t method;
    uint32_t clauses;
};

struct clauses {
    uint64_t at;
    uint64_t count;
    uint32_t size;
    uint32_t filter;
};

static bool has_filter(struct sn_code_reader *reader, const struct clauses *clauses,
                       const struct sn_managed_code *code)
{
    for (uint64_t i = 0; i < clauses->count && i < CLAUSES_MAX; i++) {
        uint64_t at = clauses->at + i * clauses->size;
        uint32_t kind;
        uint32_t filter;
        if (!sn_code_read_u32(reader, at + CLAUSE_KIND, &kind) ||
            !sn_code_read_u32(reader, at + clauses->filter, &filter))
            return false;
        if ((kind & KIND_MASK) == KIND_FILTER && code->start + filter == code->function)
            return true;
    }
    return false;
}

bool sn_exception_clauses_has_filter(struct sn_code_reader *reader,
                                     const struct sn_managed_code *code)
{
    struct clauses clauses = {.size = JIT_CLAUSE_SIZE, .filter = JIT_CLAUSE_FILTER};
    uint64_t header;
    uint64_t info;
    uint32_t offset = reader->layout->header_clauses;
    if (offset == UINT32_MAX || !sn_code_read_u64(reader, code->start - 8, &header) ||
        !sn_code_read_u64(reader, header + offset, &info) || !info || info & 7 ||
        !sn_code_read_u64(reader, info - 8, &clauses.count))
        return false;
    clauses.at = info + JIT_CLAUSES_AT;
    return has_filter(reader, &clauses, code);
}

bool sn_exception_clauses_has_image_filter(struct sn_code_reader *reader,
                                           const struct sn_ready_to_run *image,
                                           const struct sn_managed_code *code)
{
    struct clauses clauses = {.size = CLAUSE_SIZE, .filter = CLAUSE_FILTER};
    uint32_t low = 0;
    uint32_t high = image->clause_entries; /* the last is none: it tells where the others end */
    while (low + 1 < high) {
        struct entry pair[2];
        uint32_t middle = low + (high - 1 - low) / 2;
        if (!sn_code_read(reader, image->clauses + (uint64_t)middle * sizeof(*pair), pair,
                          sizeof(pair)))
            return false;
        if (image->image + pair[0].method == code->start) {
            clauses.at = image->image + pair[0].clauses;
            clauses.count = (pair[1].clauses - pair[0].clauses) / CLAUSE_SIZE;
            return has_filter(reader, &clauses, code);
        }
        if (image->image + pair[0].method < code->start)
            low = middle + 1;
        else
            high = middle + 1;
    }
    return false;
}
