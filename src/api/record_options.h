/* The options of a recording, kept beyond its start. */
#ifndef SN_RECORD_OPTIONS_H
#define SN_RECORD_OPTIONS_H

struct sn_arena;
struct sonde_error;
struct sonde_record_options;

/* A copy of what is known of `given`, all of it in `arena`; frequency 0 is made the usual one. Pids
 * and providers have room for one more. */
int sn_record_options_copy(const struct sonde_record_options *given, struct sn_arena *arena,
                           struct sonde_record_options *ret_options, struct sonde_error *err);

#endif
