/** @file
 * Tracing: EventPipe sessions of chosen processes, written to files as they come.
 *
 * A tracer is driven by its owner: wait until sonde_tracer_fd is readable or sonde_tracer_wait_ms
 * has passed, then call sonde_tracer_turn; until sonde_tracer_is_done. One thread.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_TRACE_H
#define SONDE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/provider.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** What to trace and where to. Set `size` to sizeof; zero the rest for the defaults. Everything is
 * borrowed until the start returns. */
struct sonde_trace_options {
    size_t size;                            /**< sizeof(struct sonde_trace_options) */
    const struct sonde_provider *providers; /**< what to ask for: at least one */
    size_t provider_count;                  /**< how many */
    uint32_t buffer_mb; /**< in the target; 0: 256, but no more than 5 % of its memory limit */
    bool no_stacks;     /**< cheaper for the target; .NET 9 and later */
    bool no_rundown;    /**< no method names at the end */
    uint64_t rundown_keyword; /**< 0: the runtime's default */
    const char *output;       /**< the file to write */
    uint32_t format;     /**< 0: the runtime's own bytes if possible, else 4; or anew as 4 or 6 */
    uint64_t roll_bytes; /**< start a new file at about this size; 0: never */
    uint32_t roll_keep;  /**< keep the newest files only; 0: all */
    const char *stop_provider; /**< stop after an event of this provider ... */
    const char *stop_event;    /**< ... with this name (NULL: any) ... */
    const char *stop_payload;  /**< ... and these fields: "name:value,name:value" (NULL: any) */
    /** Asked while a start takes long; true gives it up (NULL: never). */
    bool (*is_cancelled)(void *user);
    void *cancel_user;    /**< what that gets */
    bool no_cpu_record;   /**< do not write OUTPUT.cpu beside it */
    bool hide_child_io;   /**< a launched program gets no input, and its output goes nowhere */
    bool leave_suspended; /**< do not let a runtime that waits for us run: somebody else will */
};

/** Numbers of one trace, so far. */
struct sonde_trace_stats {
    uint32_t pid;            /**< the target */
    bool is_ended;           /**< nothing more will come of it */
    int status;              /**< how it ended; SONDE_OK, SONDE_E_GONE (the target died) ... */
    const char *message;     /**< the cause when it did not end well, or "" */
    const char *stop_cause;  /**< "stopping event", "request", or "" when it ended by itself */
    const char *output;      /**< the present file */
    const char *runtime;     /**< the target's version */
    uint64_t duration_ns;    /**< from its start to now or to its end */
    uint64_t event_count;    /**< received and kept */
    uint64_t lost_count;     /**< dropped by the runtime: its buffer was full */
    uint64_t byte_count;     /**< written */
    uint64_t damage_count;   /**< places in the stream that could not be read */
    uint32_t file_count;     /**< more than one when rolled */
    uint32_t buffer_mb;      /**< what was asked of the target */
    bool is_raw;             /**< the file is the runtime's own bytes */
    bool has_stacks;         /**< stacks were collected (they cannot be switched off on .NET 8) */
    uint64_t target_cpu_ns;  /**< CPU time of the target meanwhile */
    uint64_t tracing_cpu_ns; /**< of that, in the runtime's own tracing threads */
};

/** Traces of one or many processes; opaque. */
struct sonde_tracer;

/** A tracer without traces. The caller frees it. */
int sonde_tracer_new(struct sonde_tracer **ret_tracer, struct sonde_error *err);

/** Stops what still runs, without a rundown; waits for each target half a second at most. NULL is
 * fine. */
void sonde_tracer_free(struct sonde_tracer *tracer);

/** Opens a session on `pid`. Returns its index or a negative status. */
int sonde_tracer_add(struct sonde_tracer *tracer, uint32_t pid,
                     const struct sonde_trace_options *options, struct sonde_error *err);

/** Starts a program that waits at its first instruction until its session is open, then lets it
 * run. `argv` ends with NULL. Other .NET processes it starts are let run at once. */
int sonde_tracer_launch(struct sonde_tracer *tracer, char *const argv[],
                        const struct sonde_trace_options *options, struct sonde_error *err);

/** Waits at a port of its own until a program that somebody else starts with
 * DOTNET_DiagnosticPorts=`path` connects to it, opens its session, then lets it run. */
int sonde_tracer_listen(struct sonde_tracer *tracer, const char *path,
                        const struct sonde_trace_options *options, struct sonde_error *err);

/** A descriptor that is readable when there is something to do; for poll(2) and the like. */
int sonde_tracer_fd(const struct sonde_tracer *tracer);

/** How long to wait at most, in milliseconds, as poll(2) wants it; -1: for ever. */
int sonde_tracer_wait_ms(const struct sonde_tracer *tracer);

/** Does what there is to do, without waiting. How each trace fares: sonde_tracer_stats. */
int sonde_tracer_turn(struct sonde_tracer *tracer, struct sonde_error *err);

/** Asks every session to end and its rundown to be written; keep turning until done. A second call
 * gives up on the rundown and closes. */
void sonde_tracer_stop(struct sonde_tracer *tracer);

/** Whether every trace has ended and its file is closed. */
bool sonde_tracer_is_done(const struct sonde_tracer *tracer);

/** How many traces there are, those that have ended included. */
size_t sonde_tracer_count(const struct sonde_tracer *tracer);

/** Fills in the numbers of trace `index`; texts are borrowed until the next turn. */
void sonde_tracer_stats(const struct sonde_tracer *tracer, size_t index,
                        struct sonde_trace_stats *ret_stats);

/** What one thread lost. */
struct sonde_thread_loss {
    uint64_t thread_id;  /**< as the target counts it */
    uint64_t lost_count; /**< its events that the runtime dropped */
};

/** Threads of a trace that lost events, most first. Returns how many there are; fills at most
 * `size`.
 */
size_t sonde_tracer_losses(const struct sonde_tracer *tracer, size_t index,
                           struct sonde_thread_loss *to, size_t size);

/** Providers that were asked for and sent nothing, perhaps for a typing error. Returns how many
 * there are; fills at most `size`. */
size_t sonde_tracer_silent(const struct sonde_tracer *tracer, size_t index, const char **to,
                           size_t size);

/** Whether a launched command that is not itself a .NET program, such as a shell, still runs. The
 * runtimes it starts wait for this tracer to let them go, so keep turning as long as this is true.
 */
bool sonde_tracer_is_needed(const struct sonde_tracer *tracer);

/** The path of file `number` (1 to file_count) of a trace into `to`. False when there is none, or a
 * rolled one is gone already. */
bool sonde_tracer_file(const struct sonde_tracer *tracer, size_t index, uint32_t number, char *to,
                       size_t size);

/** Exit status of a launched program once it has ended, as waitpid gives it; -1 before. */
int sonde_tracer_child_status(const struct sonde_tracer *tracer, size_t index);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
