/* tracefs, where the kernel describes its tracepoints: found where it is mounted, else through a
 * mount that belongs to one descriptor, which nobody else sees and which ends with it. */
#ifndef SN_TRACEFS_H
#define SN_TRACEFS_H

struct sn_tracepoint;
struct sonde_error;

/* A directory that holds `events`; the caller closes it. SONDE_E_DENIED, SONDE_E_NOT_FOUND. */
int sn_tracefs_open(int *ret_dir, struct sonde_error *err);

/* The tracepoint "subsystem:name". SONDE_E_ARGUMENT when it is not of that form,
 * SONDE_E_NOT_FOUND with the nearest names when this kernel has none such. */
int sn_tracefs_load(int dir, const char *name, struct sn_tracepoint **ret_tracepoint,
                    struct sonde_error *err);

#endif
