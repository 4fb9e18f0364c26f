#include "api/module_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbol/methods.h"
#include "symbol/version_id.h"

#define MODULES_MAX 4096u
#define READ_LIMIT  ((size_t)256 << 20) /* bytes of all modules together */

void sn_module_facts_init(struct sn_module_facts *facts)
{
    *facts =
        (struct sn_module_facts){.by_id = sn_table_with_limit(MODULES_MAX), .readable = READ_LIMIT};
}

void sn_module_facts_done(struct sn_module_facts *facts)
{
    free(facts->facts);
    sn_table_done(&facts->by_id);
}

static void describe(struct sn_module_facts *facts, uint32_t pid, const struct sn_module *module,
                     struct sn_module_fact *fact)
{
    const char *slash = strrchr(module->path, '/');
    const char *file = slash ? slash + 1 : module->path;
    *fact = (struct sn_module_fact){.name = file[0] ? file : module->name};
    if (!module->is_dynamic && module->path[0] == '/')
        (void)sn_version_id_read(pid, module->path, &facts->readable,
                                 fact->version_id); /* zeros when it cannot be read */
}

const struct sn_module_fact *sn_module_facts_find(struct sn_module_facts *facts, uint32_t pid,
                                                  const struct sn_methods *methods,
                                                  uint64_t module_id)
{
    static const struct sn_module_fact none = {.name = ""};
    const struct sn_module *module = sn_methods_module(methods, module_id);
    uint64_t *slot = module ? sn_table_put(&facts->by_id, module_id) : NULL;
    if (!slot)
        return &none;
    if (*slot)
        return &facts->facts[*slot - 1];
    struct sn_module_fact *room =
        sn_array_room(facts->facts, facts->count, &facts->capacity, sizeof(*room));
    if (!room)
        return &none;
    facts->facts = room;
    describe(facts, pid, module, &room[facts->count]);
    *slot = ++facts->count;
    return &room[facts->count - 1];
}
