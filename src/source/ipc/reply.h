/* The answers of the .NET diagnostics port. Everything here comes from a target and may be hostile:
 * reads are bounded, counts have ceilings. Layouts: docs/formats/diagnostics-port.md. */
#ifndef SN_IPC_REPLY_H
#define SN_IPC_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "source/ipc/guid.h"

struct sn_buf;
struct sonde_error;

#define SN_IPC_LARGEST_ENVIRONMENT (4u << 20)
#define SN_IPC_MOST_VARIABLES      65536u

#define SN_IPC_HR_BAD_ENCODING      0x80131384u
#define SN_IPC_HR_UNKNOWN_COMMAND   0x80131385u
#define SN_IPC_HR_NOT_SUPPORTED     0x80131515u
#define SN_IPC_HR_FAIL              0x80004005u
#define SN_IPC_HR_NOT_YET_AVAILABLE 0x8013135Bu
#define SN_IPC_HR_PROFILER_ACTIVE   0x8013136Au

struct sn_ipc_reply_header {
    size_t size; /* whole message, header included */
    bool is_error;
};

/* Reads the 20 bytes that begin every reply. */
int sn_ipc_decode_reply_header(const void *bytes, size_t size, struct sn_ipc_reply_header *ret,
                               struct sonde_error *err);

/* The payload of an error reply: its HRESULT, and the text that follows it, if any, as UTF-8 into
 * `message` (may be NULL). */
int sn_ipc_decode_error(const void *payload, size_t size, uint32_t *ret_hresult,
                        struct sn_buf *message, struct sonde_error *err);

/* The payload of most commands: a HRESULT, 0 when it went well. No payload counts as 0. */
int sn_ipc_decode_result(const void *payload, size_t size, uint32_t *ret_hresult,
                         struct sonde_error *err);

int sn_ipc_decode_session_id(const void *payload, size_t size, uint64_t *ret_id,
                             struct sonde_error *err);

/* How many bytes follow the reply to GetProcessEnvironment, at most SN_IPC_LARGEST_ENVIRONMENT. */
int sn_ipc_decode_environment_size(const void *payload, size_t size, size_t *ret_size,
                                   struct sonde_error *err);

/* What a runtime says about itself; texts are UTF-8 and never NULL. Release with
 * sn_ipc_process_info_done; zero it before use. */
struct sn_ipc_process_info {
    uint64_t ns_pid; /* in its own pid namespace */
    struct sn_ipc_guid cookie;
    const char *command_line;
    const char *os;
    const char *arch;
    const char *entry_assembly; /* "" from GetProcessInfo */
    const char *version;        /* "10.0.12"; "" from GetProcessInfo */
    const char *rid;            /* "linux-x64"; "" before GetProcessInfo3 */
    unsigned major;             /* 10; 0 when not known */
    struct sn_arena texts;      /* owns */
};

/* `generation` is 1, 2 or 3, as the command was. */
int sn_ipc_decode_process_info(const void *payload, size_t size, unsigned generation,
                               struct sn_ipc_process_info *ret_info, struct sonde_error *err);
void sn_ipc_process_info_done(struct sn_ipc_process_info *info);

static inline void sn_ipc_process_info_done_auto(struct sn_ipc_process_info *info)
{
    sn_ipc_process_info_done(info);
}

/* The live environment of a runtime, in its order. Zero it before use. */
struct sn_ipc_environment {
    const char **variables; /* "NAME=value" */
    size_t count;
    struct sn_arena texts; /* owns */
};

/* Reads what follows the reply. */
int sn_ipc_decode_environment(const void *bytes, size_t size,
                              struct sn_ipc_environment *ret_environment, struct sonde_error *err);
void sn_ipc_environment_done(struct sn_ipc_environment *environment);

static inline void sn_ipc_environment_done_auto(struct sn_ipc_environment *environment)
{
    sn_ipc_environment_done(environment);
}

/* One line, what the code means here; never NULL. */
const char *sn_ipc_hresult_text(uint32_t hresult);

#endif
