#include "cli/remote_logs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/remote.h"
#include "cli/remote_output.h"
#include "cli/remote_processes.h"
#include "cli/signals.h"
#include "net/http_client.h"

/* A program may have nothing to say for long. */
#define SILENCE_NS (24ull * 3600 * SN_NS_PER_SECOND)

/* As dotnet-monitor spells it; "": none given, the program's own. */
static int find_level(const char *text, const char **ret_level, struct sonde_error *err)
{
    static const char *const levels[] = {"Trace",   "Debug", "Information",
                                         "Warning", "Error", "Critical"};
    *ret_level = "";
    for (size_t i = 0; text && i < sizeof(levels) / sizeof(levels[0]); i++) {
        size_t size = strlen(text);
        if (size >= 4 && strncasecmp(text, levels[i], size) == 0)
            *ret_level = levels[i];
    }
    if (!text || **ret_level)
        return SONDE_OK;
    return sn_fail(err, SONDE_E_ARGUMENT, 0,
                   "'%.32s' is not a level: trace, debug, information, warning, error, critical",
                   text);
}

static int read_pid(const char *text, uint64_t *ret_pid, struct sonde_error *err)
{
    *ret_pid = 0;
    if (!text || (sn_text_to_u64(text, INT32_MAX, ret_pid) && *ret_pid))
        return SONDE_OK;
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%.32s' is not a pid", text);
}

static int fetch(const struct sn_remote_logs *logs, struct sn_remote *remote,
                 struct sn_remote_output *output, struct sonde_error *err)
{
    char path[160];
    uint64_t wanted = 0;
    uint32_t pid = 0;
    const char *level = "";
    int rc = find_level(logs->level, &level, err);
    if (rc == SONDE_OK)
        rc = read_pid(logs->pid, &wanted, err);
    if (rc == SONDE_OK)
        rc = sn_remote_processes_choose(remote, wanted, logs->name, &pid, err);
    if (rc != SONDE_OK)
        return rc;
    int64_t seconds = logs->duration_ns
                          ? (int64_t)((logs->duration_ns + SN_NS_PER_SECOND - 1) / SN_NS_PER_SECOND)
                          : -1;
    (void)snprintf(path, sizeof(path), "/logs?pid=%" PRIu32 "&durationSeconds=%" PRId64 "%s%s", pid,
                   seconds, *level ? "&level=" : "", level);
    sn_http_client_set_timeout(remote->client, SILENCE_NS);
    return sn_remote_output_fetch(
        output, remote, path, logs->is_ndjson ? "application/x-ndjson" : "text/plain", true, err);
}

int sn_remote_logs_run(const struct sn_remote_logs *logs, const struct sn_remote_choice *choice)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_close) int signals = -1;
    SN_AUTO(sn_remote_close) struct sn_remote *remote = NULL;
    struct sn_remote_output output = {
        .path = logs->output, .is_text = !logs->is_ndjson, .line_limit = logs->limit};
    char text[32];
    int rc = sn_signals_open(&signals, &err);
    if (rc == SONDE_OK)
        rc = sn_remote_open(choice, false, signals, &remote, &err);
    if (rc == SONDE_OK)
        rc = fetch(logs, remote, &output, &err);
    if (rc != SONDE_OK)
        return sn_command_fail(&err);
    (void)fprintf(stderr, "%s of logs, read by the controller\n",
                  sn_text_bytes(output.byte_count, text));
    return SN_EXIT_DONE;
}
