/* Code addresses to the runtime's methods, as the runtime itself finds them: its map of code
 * ranges, then the nibble map of a code heap or the function table of a precompiled image. Borrows
 * the runtime. Answers are kept until sn_code_map_forget: code that is in use does not move. One
 * thread. */
#ifndef SN_CODE_MAP_H
#define SN_CODE_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct sn_code_map;
struct sn_runtime_memory;
struct sonde_error;

enum sn_managed_code_kind {
    SN_CODE_NONE, /* not the runtime's: native */
    SN_CODE_JIT,
    SN_CODE_PRECOMPILED,
    SN_CODE_STUB, /* generated, of no method */
};

struct sn_managed_code {
    uint8_t kind;    /* enum sn_managed_code_kind */
    bool is_funclet; /* a catch, finally or filter of its method: shares the frame of it */
    uint64_t
        method; /* MethodDesc; 0: not known (a stub, or a precompiled method that cannot be told) */
    uint64_t start;        /* of the method's code */
    uint64_t function;     /* start of the piece (funclet, cold part) that holds the address */
    uint64_t function_end; /* 0: not known */
    uint64_t unwind_info;  /* address of the piece's unwind data (format/unwind_info.h), or 0 */
    uint64_t debug_info;   /* address of its packed debug information, or 0 */
    uint64_t module;       /* precompiled: Module */
    uint32_t token;        /* precompiled, and its MethodDesc is not known: MethodDef in the module;
                              0: not told */
};

/* SONDE_E_UNSUPPORTED: the runtime does not tell of its code, with what is missing. */
int sn_code_map_new(struct sn_runtime_memory *runtime, struct sn_code_map **ret_map,
                    struct sonde_error *err);
void sn_code_map_free(struct sn_code_map *map);

static inline void sn_code_map_free_auto(struct sn_code_map **slot)
{
    sn_code_map_free(*slot);
}

/* Forgets the answers: code that nobody uses any more may have been given back, and other code made
 * in its place. Before each new look at a process, together with sn_memory_forget. */
void sn_code_map_forget(struct sn_code_map *map);

/* False: SN_CODE_NONE. */
bool sn_code_map_find(struct sn_code_map *map, uint64_t address, struct sn_managed_code *ret_code);

/* Of a funclet: it is a filter, which runs before anything is unwound. False also where the runtime
 * does not tell, as from .NET 10 on. */
bool sn_code_map_is_filter(struct sn_code_map *map, const struct sn_managed_code *code);

/* The offset in the method's IL of the instruction at `address` (of a caller: the return address
 * less one). False: not told. */
bool sn_code_map_il_offset(struct sn_code_map *map, const struct sn_managed_code *code,
                           uint64_t address, uint32_t *ret_il_offset);

#endif
