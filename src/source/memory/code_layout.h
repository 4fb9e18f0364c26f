/* How the structures lie by which a runtime finds its methods, from the contract; and reads of them
 * that are counted. Private to the code map's files. */
#ifndef SN_CODE_LAYOUT_H
#define SN_CODE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_contract;
struct sn_memory;
struct sonde_error;

struct sn_code_layout {
    uint32_t version;         /* of the contract ExecutionManager */
    uint64_t range_map;       /* address of the map of code ranges */
    uint64_t stub_last;       /* the largest word that marks a stub in place of a header */
    uint64_t hash_slots;      /* of a bucket */
    uint64_t hash_value_mask; /* what of a value is not a mark */
    uint32_t map_top;         /* RangeSectionMap.TopLevelData */
    uint32_t fragment_next;   /* RangeSectionFragment */
    uint32_t fragment_begin;
    uint32_t fragment_end;
    uint32_t fragment_section;
    uint32_t section_begin; /* RangeSection */
    uint32_t section_end;
    uint32_t section_heap;
    uint32_t section_module;
    uint32_t heap_start; /* CodeHeapListNode */
    uint32_t heap_end;
    uint32_t heap_map_base;
    uint32_t heap_map;
    uint32_t header_method; /* RealCodeHeader */
    uint32_t header_unwind_count;
    uint32_t header_unwind;
    uint32_t header_clauses;    /* optional: how exceptions are handled */
    uint32_t header_debug_info; /* optional: at its start in every release so far */
    uint32_t function_begin;    /* RuntimeFunction */
    uint32_t function_end;
    uint32_t function_unwind;
    uint32_t function_size;
    uint32_t module_image; /* Module.ReadyToRunInfo */
    uint32_t image_header; /* ReadyToRunInfo; the header is optional */
    uint32_t image_composite;
    uint32_t image_functions;
    uint32_t image_function_count;
    uint32_t image_hot_cold;
    uint32_t image_hot_cold_count;
    uint32_t image_thunks;
    uint32_t image_methods;
    uint32_t directory_address; /* ImageDataDirectory */
    uint32_t directory_size;
    uint32_t hash_buckets; /* HashMap */
    uint32_t bucket_keys;  /* Bucket */
    uint32_t bucket_values;
    uint32_t bucket_size;
};

/* SONDE_E_UNSUPPORTED: the contract is of a version that is not known, or lacks something. */
int sn_code_layout_read(struct sn_contract *contract, struct sn_code_layout *ret_layout,
                        struct sonde_error *err);

/* One question's reads. When an answer makes no sense, it is asked again with `is_now`: what was
 * kept may be older than the stack that led here. */
struct sn_code_reader {
    struct sn_memory *memory;            /* borrows */
    const struct sn_code_layout *layout; /* borrows */
    uint32_t left;                       /* reads that may still be made */
    uint32_t rows_left; /* rows of MethodDef that may still be read, of all images */
    bool is_now;
};

#define SN_CODE_READS_MAX 20000u /* of a question; ordinary ones make fifty */

#define SN_CODE_ROWS_MAX (1u << 20)

bool sn_code_read(struct sn_code_reader *reader, uint64_t address, void *to, size_t size);
bool sn_code_read_u8(struct sn_code_reader *reader, uint64_t address, uint8_t *ret_value);
bool sn_code_read_u32(struct sn_code_reader *reader, uint64_t address, uint32_t *ret_value);
bool sn_code_read_u64(struct sn_code_reader *reader, uint64_t address, uint64_t *ret_value);

/* One RUNTIME_FUNCTION: from begin to end, relative to the range that it lies in. */
struct sn_code_function {
    uint32_t begin;
    uint32_t end;
    uint32_t unwind;
};
bool sn_code_read_function(struct sn_code_reader *reader, uint64_t functions, uint32_t index,
                           struct sn_code_function *ret_function);

/* The last of `count` functions that begins at `relative` or before; false: none, or unreadable. */
bool sn_code_find_function(struct sn_code_reader *reader, uint64_t functions, uint32_t count,
                           uint32_t relative, uint32_t *ret_index);

#endif
