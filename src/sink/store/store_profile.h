/* Profiles as columns: names and weights of methods, the call tree. Reading expects anything. */
#ifndef SN_STORE_PROFILE_H
#define SN_STORE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sink/store/store.h"
#include "sink/store/store_pack.h"

#define SN_STORE_METHODS_MAX (256u << 10)
#define SN_STORE_NODES_MAX   (2u << 20)

/* Append to `out`. */
int sn_store_profile_encode_methods(struct sn_store_packer *packer,
                                    const struct sn_store_method *methods, size_t count,
                                    struct sn_buf *out, struct sonde_error *err);
int sn_store_profile_encode_nodes(struct sn_store_packer *packer,
                                  const struct sn_store_profile_node *nodes, size_t count,
                                  struct sn_buf *out, struct sonde_error *err);

/* What was read; names lie in `texts`. */
struct sn_store_methods_read {
    struct sn_store_method *methods; /* owns */
    size_t count;
    struct sn_buf texts;
};
void sn_store_methods_read_done(struct sn_store_methods_read *methods);

static inline void sn_store_methods_read_done_auto(struct sn_store_methods_read *methods)
{
    sn_store_methods_read_done(methods);
}

int sn_store_profile_decode_methods(struct sn_store_packer *packer, const void *bytes, size_t size,
                                    struct sn_store_methods_read *ret_methods,
                                    struct sonde_error *err);
/* The caller frees `nodes`. Parents come before their children, methods are below
 * `method_count`. */
struct sn_store_nodes_read {
    struct sn_store_profile_node *nodes;
    size_t count;
};
int sn_store_profile_decode_nodes(struct sn_store_packer *packer, const void *bytes, size_t size,
                                  size_t method_count, struct sn_store_nodes_read *ret_nodes,
                                  struct sonde_error *err);

#endif
