/* The runtime's description of its own structures (the data contract): types with the offsets of
 * their fields, globals, and versions of the algorithms that use them. .NET 10 exports a large one,
 * 9 a smaller one, 8 none; what they do not tell, tables of ours in the same form add
 * (known_layouts.h), and each of those is proved before it is trusted. */
#ifndef SN_CONTRACT_H
#define SN_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_contract;
struct sn_memory;
struct sonde_error;

/* Reads the descriptor at `address`. SONDE_E_FORMAT: it is none, or not one that we understand. */
int sn_contract_read(struct sn_memory *memory, uint64_t address, struct sn_contract **ret_contract,
                     struct sonde_error *err);

/* An empty one, for runtimes that export none. */
int sn_contract_new(struct sn_contract **ret_contract, struct sonde_error *err);
void sn_contract_free(struct sn_contract *contract);

static inline void sn_contract_free_auto(struct sn_contract **slot)
{
    sn_contract_free(*slot);
}

/* Adds what `json` (same form as the runtime's) has and the contract has not. `pointers` are what
 * its indirect globals
 * ("[[3],..]") index: addresses of variables. Copied. */
int sn_contract_add(struct sn_contract *contract, const char *json, size_t size,
                    const uint64_t *pointers, size_t pointer_count, struct sonde_error *err);

/* The version of an algorithm ("Thread", "ExecutionManager"); 0: the runtime does not tell of it.
 */
uint32_t sn_contract_version(const struct sn_contract *contract, const char *name);

/* Offset of a field; of "!" the size of the type. False: not told. */
bool sn_contract_offset(const struct sn_contract *contract, const char *type, const char *field,
                        uint32_t *ret_offset);

/* A global: a number, or the address of the runtime's variable. False: not told. */
bool sn_contract_number(const struct sn_contract *contract, const char *name, uint64_t *ret_value);
bool sn_contract_address(const struct sn_contract *contract, const char *name,
                         uint64_t *ret_address);

/* What a module needs of it, as a table: each row fills in a uint32_t of a struct. */
struct sn_contract_want {
    const char *type;
    const char *field;
    size_t at;        /* offsetof the uint32_t */
    bool is_optional; /* SN_CONTRACT_NONE is written when it is not told */
};
#define SN_CONTRACT_NONE UINT32_MAX

/* False: something that is needed is not told; *ret_missing names it ("RangeSection.Flags"),
 * borrowed until the next call. */
bool sn_contract_bind(struct sn_contract *contract, const struct sn_contract_want *wants,
                      size_t count, void *to, const char **ret_missing);

#endif
