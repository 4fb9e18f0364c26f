/* What a report takes from the manifest of a recording, which knows what its trace does not say. */
#ifndef SN_MANIFEST_FACTS_H
#define SN_MANIFEST_FACTS_H

#include <stdbool.h>
#include <stdint.h>

struct sn_manifest_facts {
    bool is_known; /* there is a manifest: the file is a recording that came to its end */
    uint64_t duration_ns;
    uint64_t kernel_lost_count; /* records of the kernel, not events of runtimes */
};

/* Of the archive or journal at `path`; all zero when it has none. */
struct sn_manifest_facts sn_manifest_facts_read(const char *path);

#endif
