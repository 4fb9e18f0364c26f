/* Code addresses to methods, from the runtime's own events: loads while a trace runs, and the
 * rundown at its end. One process, one thread.
 *
 * Fill it, then ask; both may go on in turn. */
#ifndef SN_METHODS_H
#define SN_METHODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_event;
struct sn_methods;
struct sn_name_pool;
struct sonde_error;

/* A piece of code. A method has one for each tier and version. Strings live as long as the table.
 */
struct sn_method {
    uint64_t start;
    uint64_t size;
    uint64_t method_id;
    uint64_t module_id;
    uint64_t version_id; /* ReJIT or tier version, 0 when not told */
    uint64_t from_ns;    /* loaded at; 0: before anything we know (rundown) */
    uint64_t until_ns;   /* unloaded at; UINT64_MAX: never */
    uint32_t token;
    uint32_t flags;        /* as the runtime has them: 1 dynamic, 2 generic, 8 jitted; tier << 7 */
    const char *type;      /* "Shop.Orders+<PlaceAsync>d__3" */
    const char *name;      /* "MoveNext" */
    const char *signature; /* "instance void ()" */
};

struct sn_module {
    uint64_t module_id;
    const char *path;     /* of the IL file, as the target sees it */
    const char *name;     /* "Shop" */
    const char *pdb_path; /* as the compiler wrote it; "" when not told */
    uint8_t pdb_guid[16];
    uint32_t pdb_age;
    bool is_dynamic;
};

int sn_methods_new(struct sn_methods **ret_methods, struct sonde_error *err);
/* With names kept in a pool (symbol/name_pool.h) that others use as well. Borrows it. */
int sn_methods_new_in(struct sn_name_pool *names, struct sn_methods **ret_methods,
                      struct sonde_error *err);
void sn_methods_free(struct sn_methods *methods);

static inline void sn_methods_free_auto(struct sn_methods **slot)
{
    sn_methods_free(*slot);
}

/* One event of the runtime (sn_code_request of symbol/code.h has them all); what is not about
 * methods and modules is passed over. */
void sn_methods_take(struct sn_methods *methods, const struct sn_event *event);

/* The code at `address` at that time; NULL when there is none. Borrowed, dies with the next load.
 */
const struct sn_method *sn_methods_find(struct sn_methods *methods, uint64_t address,
                                        uint64_t time_ns);

/* Whether `address` belonged to one method only, as far as is known: the answer of sn_methods_find
 * then does not depend on the time. */
bool sn_methods_is_settled(struct sn_methods *methods, uint64_t address);

/* Any piece of code of the method with that id; NULL when none is known. Borrowed, as above. */
const struct sn_method *sn_methods_by_id(struct sn_methods *methods, uint64_t method_id);

const struct sn_module *sn_methods_module(const struct sn_methods *methods, uint64_t module_id);

/* Goes up with whatever moves the methods: pointers from before are good no more. */
uint64_t sn_methods_changes(const struct sn_methods *methods);

size_t sn_methods_count(const struct sn_methods *methods);

/* One of them, in no order that matters; NULL past the end. Borrowed, as above. */
const struct sn_method *sn_methods_at(const struct sn_methods *methods, size_t index);

#endif
