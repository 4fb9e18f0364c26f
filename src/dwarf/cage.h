/* A process that reads one hostile file and tells of it, and may do nothing else. */
#ifndef SN_CAGE_H
#define SN_CAGE_H

#include <stdbool.h>

#define SN_CAGE_IN          0 /* the file */
#define SN_CAGE_OUT         1 /* where it tells */
#define SN_CAGE_CPU_SECONDS 10u
#define SN_CAGE_MEMORY      (1u << 30)

/* Gives all of this process's rights up for good: user, capabilities, every descriptor but these
 * two (which become SN_CAGE_IN and SN_CAGE_OUT), memory and time beyond a measure, and every system
 * call that reading does not need: opening files fails, any other ends the process. False: it could
 * not be made sure; the process should end. */
bool sn_cage_enter(int in, int out);

#endif
