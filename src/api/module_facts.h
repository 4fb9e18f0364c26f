/* What is told of the module of a method besides its path: its file's name and its version id, read
 * from that file once. Of one process. One thread. */
#ifndef SN_MODULE_FACTS_H
#define SN_MODULE_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

struct sn_methods;

struct sn_module_fact {
    const char *name;       /* "shop.dll", or ""; lives as long as the methods */
    uint8_t version_id[16]; /* zeros when not known */
};

struct sn_module_facts {
    struct sn_module_fact *facts; /* owns */
    size_t count;
    size_t capacity;
    struct sn_table by_id; /* of a module -> index + 1 */
    size_t readable;       /* bytes that may still be read from modules */
};

void sn_module_facts_init(struct sn_module_facts *facts);
void sn_module_facts_done(struct sn_module_facts *facts);

/* Never NULL; borrowed until the next call. */
const struct sn_module_fact *sn_module_facts_find(struct sn_module_facts *facts, uint32_t pid,
                                                  const struct sn_methods *methods,
                                                  uint64_t module_id);

#endif
