/* Names of the kernel's functions, from /proc/kallsyms. Symbols there have no sizes: a function
 * reaches to the next symbol, but not further than functions do. */
#ifndef SN_KALLSYMS_H
#define SN_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_error;

#define SN_KALLSYMS_PATH "/proc/kallsyms"

struct sn_kallsyms_symbol {
    uint64_t start;
    uint64_t size;
    const char *name; /* "vfs_read", "nft_do_chain [nf_tables]"; borrowed for the call */
};

/* Calls `found` once for each function that holds one or more of `addresses`, which ascend, and so
 * in their order. Reads the list once and keeps no more than a name an address. SONDE_E_DENIED when
 * the kernel hides its addresses from us; the text says what would help. */
typedef void sn_kallsyms_fn(void *user, const struct sn_kallsyms_symbol *symbol);
int sn_kallsyms_search(const char *path, const uint64_t *addresses, size_t count,
                       sn_kallsyms_fn *found, void *user, struct sonde_error *err);

/* All functions at once, some megabytes, for live views. */
struct sn_kallsyms;
int sn_kallsyms_new(const char *path, struct sn_kallsyms **ret_kallsyms, struct sonde_error *err);
void sn_kallsyms_free(struct sn_kallsyms *kallsyms);
bool sn_kallsyms_find(const struct sn_kallsyms *kallsyms, uint64_t address,
                      struct sn_kallsyms_symbol *ret_symbol);

#endif
