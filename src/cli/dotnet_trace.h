/* sonde as dotnet-trace 10: its verbs, options, file names, output and exit codes. What differs on
 * purpose is in docs/drop-in.md. */
#ifndef SN_CLI_DOTNET_TRACE_H
#define SN_CLI_DOTNET_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cli/net_options.h"
#include "sonde/provider.h"

struct sn_buf;
struct sonde_profile;
struct sonde_error;

/* What dotnet-trace ends with. */
enum sn_dotnet_exit {
    SN_DOTNET_OK = 0,
    SN_DOTNET_SESSION = 1, /* a session could not be created */
    SN_DOTNET_TRACING = 2,
    SN_DOTNET_ARGUMENT = 3,
    SN_DOTNET_PLATFORM = 4,
    SN_DOTNET_UNKNOWN = 5,
    SN_DOTNET_NO_SUBCOMMAND = 255,
};

int sn_dotnet_trace_main(int argc, char **argv);

extern const struct sn_net_command sn_dotnet_collect;
extern const struct sn_net_command sn_dotnet_convert;
extern const struct sn_net_command sn_dotnet_report;

/* "[ERROR] ..." on standard error; returns `code`. */
int sn_dotnet_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- formats of files --- */

enum sn_dotnet_format { SN_DOTNET_NETTRACE = 1, SN_DOTNET_SPEEDSCOPE, SN_DOTNET_CHROMIUM };

extern const struct sn_net_choice sn_dotnet_formats[];

/* `path` made absolute. */
void sn_dotnet_full_path(struct sn_buf *to, const char *path);

/* `path` with the extension that files of the format have. */
void sn_dotnet_converted_name(struct sn_buf *to, const char *path, int format);

/* Writes `output` from `trace` and tells of it, as collect --format and convert do. */
void sn_dotnet_convert_file(const char *trace, const char *output, int format);

/* --- processes --- */

struct sn_dotnet_process {
    uint32_t pid;
    char name[256]; /* the kernel's name, or the executable's where that is cut */
    char path[4096];
};

/* What /proc says; "" where that cannot be read. */
void sn_dotnet_process_read(uint32_t pid, struct sn_dotnet_process *ret_process);

/* These return an exit code, having said what is wrong. */

/* Who is to be attached to, as the options say; NULL or "" for what is not given. */
struct sn_dotnet_attach {
    int32_t pid;
    const char *name;
    const char *port;
    const char *router;
};

/* Finds the process by its pid or name; *ret_pid is 0 where a port or `has_child` leads to it. One
 * way to say it must be given, and one only. */
int sn_dotnet_attach(const struct sn_dotnet_attach *attach, bool has_child, uint32_t *ret_pid);

/* "PATH,connect" names who listens there; "PATH,listen", or the path alone, is where to wait:
 * *ret_pid stays 0. `path` gets the absolute one. */
int sn_dotnet_resolve_port(const char *port, struct sn_buf *path, uint32_t *ret_pid);

/* `ps`: lists the processes. */
int sn_dotnet_run_ps(const struct sn_net_line *line);

/* --- what to collect --- */

#define SN_DOTNET_PROVIDERS_MAX 256u

struct sn_dotnet_session {
    struct sonde_provider providers[SN_DOTNET_PROVIDERS_MAX];
    const char *enabled_by[SN_DOTNET_PROVIDERS_MAX];
    size_t count;
    uint64_t rundown_keyword;
    bool clr_events_ignored;
    char *text; /* owns what the providers point to */
};

/* By dotnet-trace's rules: --providers before --profile before --clrevents, the first to name a
 * provider decides. Any may be NULL. Returns an exit code, having said what is wrong. */
int sn_dotnet_session_choose(struct sn_dotnet_session *session, const char *providers,
                             const char *profiles, const char *clr_events, const char *clr_level);
void sn_dotnet_session_print(const struct sn_dotnet_session *session);

static inline void sn_dotnet_session_done_auto(struct sn_dotnet_session *session)
{
    free(session->text);
}

/* Warns if a ceiling left out a part of what is shown. */
void sn_dotnet_tell_dropped(const struct sonde_profile *profile);

/* The runtime's name of an event that dotnet-trace's users call "Task/Opcode". */
void sn_dotnet_event_name(struct sn_buf *to, const char *provider, const char *name);

/* What `list-profiles` shows. */
struct sn_dotnet_profile {
    const char *name;
    const char *verb;    /* the only one that takes it, or NULL */
    const char *summary; /* lines */
};

extern const struct sn_dotnet_profile sn_dotnet_profiles[]; /* ended by one without a name */

#endif
