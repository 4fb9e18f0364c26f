/* What an archive says about its recording and its machine: manifest.json and system.json.
 * docs/formats/archive.md. */
#ifndef SN_RECORD_FACTS_H
#define SN_RECORD_FACTS_H

#include <stdint.h>

struct sn_buf;
struct sonde_record_options;
struct sonde_record_stats;

struct sn_manifest {
    const struct sonde_record_options *options; /* what was asked for, the scope as it is known */
    const struct sonde_record_stats *stats;
    uint64_t start_utc_ns;
    uint64_t end_utc_ns; /* 0: it still records, or never ended */
    uint64_t late_count; /* events that came too late to be put in their place */
    uint64_t redactions;
};

void sn_record_manifest(struct sn_buf *to, const struct sn_manifest *manifest);

/* The kernel, its CPUs, memory and limits. */
void sn_record_system(struct sn_buf *to);

#endif
