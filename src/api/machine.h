/* What a recording and a live view have in common: one road with the kernel's events and those of
 * every .NET process in scope.
 *
 * Processes that turn out to be .NET, at the start or later, get two sessions: one for names
 * (methods and modules, no stacks; what was loaded before comes from a short session's rundown)
 * and, if providers were asked for, one for those, with stacks. Their events carry our pids and
 * thread ids, whatever namespace the process lives in, and schemas that are shared by all runtimes
 * and outlive them. */
#ifndef SN_MACHINE_H
#define SN_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_loop;
struct sn_machine;
struct sn_objects;
struct sn_perf_maps;
struct sn_road;
struct sonde_error;
struct sonde_record_options;
struct sonde_record_stats;

/* Prepares road and sources; subscribe to the road, then start. */
int sn_machine_new(const struct sonde_record_options *options, struct sn_machine **ret_machine,
                   struct sonde_error *err);
void sn_machine_free(struct sn_machine *machine);
/* A copy: what it was asked for, the program it started among the pids. */
const struct sonde_record_options *sn_machine_options(const struct sn_machine *machine);
struct sn_road *sn_machine_road(struct sn_machine *machine);
struct sn_loop *sn_machine_loop(struct sn_machine *machine);
struct sn_objects *sn_machine_objects(struct sn_machine *machine);
struct sn_perf_maps *sn_machine_perf_maps(struct sn_machine *machine); /* NULL: no runtimes */

/* Told of every .NET process once its names come in. Before the start. */
typedef void sn_machine_runtime_fn(void *user, uint32_t pid);
void sn_machine_on_runtime(struct sn_machine *machine, sn_machine_runtime_fn *on_runtime,
                           void *user);

int sn_machine_start(struct sn_machine *machine, struct sonde_error *err);

/* After each turn of the loop: finds new runtimes, ends sessions of those gone, hands out what is
 * settled. */
int sn_machine_tend(struct sn_machine *machine, struct sonde_error *err);

/* The kernel is silent from now on, the runtimes are asked to end; a second call does not wait for
 * them. */
void sn_machine_stop(struct sn_machine *machine);
bool sn_machine_is_done(const struct sn_machine *machine);

/* Whether all that was chosen by pid has ended, and nothing else is in scope. A started program is
 * its starter's business. Asked often, it looks now and then. */
bool sn_machine_is_deserted(struct sn_machine *machine);

/* Way, notes, counts of samples, events, losses, processes. Texts are borrowed until the next call.
 */
void sn_machine_stats(struct sn_machine *machine, struct sonde_record_stats *ret_stats);
int sn_machine_command_status(const struct sn_machine *machine);
uint64_t sn_machine_redactions(const struct sn_machine *machine); /* pieces of command lines */

#endif
