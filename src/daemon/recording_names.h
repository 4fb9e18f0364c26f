/* Method names of a process whose trace still runs and has no rundown yet: a short second session
 * that wants nothing and is stopped at once makes the runtime enumerate what it has. Roads thread.
 */
#ifndef SN_RECORDING_NAMES_H
#define SN_RECORDING_NAMES_H

#include <stdbool.h>

struct sn_operation;

/* Somebody looks at it: names are asked for, in a worker, unless they were a while ago. They lie
 * beside its file, with ".names" behind its name, and operation->names_ns says since when. */
void sn_recording_names_want(struct sn_operation *operation);

/* They are being asked for, for the first time. */
bool sn_recording_names_are_coming(const struct sn_operation *operation);

#endif
