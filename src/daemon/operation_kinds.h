/* The kinds of operations there are here; each has a file. */
#ifndef SN_OPERATION_KINDS_H
#define SN_OPERATION_KINDS_H

#include "daemon/operation.h"

/* Events of one process into a .nettrace file. Settings: trace_settings.h. */
extern const struct sn_operation_kind sn_trace_operation;

/* The machine or chosen processes into a .sonde.zip: preset, way, frequency, offCpu, syscalls,
 * pids [..], names [..], tracepoints [..], and the events of trace_settings.h. */
extern const struct sn_operation_kind sn_record_operation;

/* A file from elsewhere, a recording that has ended: upload.h. */
extern const struct sn_operation_kind sn_upload_operation;

/* A core dump of one process: type "Full", "Heap", "Mini" or "Triage". */
extern const struct sn_operation_kind sn_dump_operation;

#endif
