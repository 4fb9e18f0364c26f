#include "daemon/process_json.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/redact.h"
#include "daemon/sight.h"

#define COMMAND_LINE_MAX (256u << 10)

/* Each ended by a zero, as the kernel has them: a blank within one would end it otherwise. The list
 * of processes has the beginning only. */
static void read_arguments(struct sn_buf *to, const struct sonde_process *process)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%u/cmdline", process->pid);
    if (sn_file_read_at(AT_FDCWD, path, to, NULL) == SONDE_OK && to->size)
        return;
    sn_buf_clear(to);
    sn_buf_append(to, process->command_line, strlen(process->command_line) + 1);
    for (size_t i = 0; i < to->size; i++)
        to->bytes[i] = to->bytes[i] == ' ' ? 0 : to->bytes[i];
}

void sn_process_json_command_line(struct sn_buf *to, const struct sonde_process *process,
                                  enum sn_scope scope)
{
    SN_AUTO(sn_buf_done) struct sn_buf arguments = sn_buf_with_limit(COMMAND_LINE_MAX);
    read_arguments(&arguments, process);
    if (scope < SN_SCOPE_SECRETS) {
        (void)sn_redact_arguments(to, (const char *)arguments.bytes, arguments.size);
        return;
    }
    for (size_t i = 0; i + 1 < arguments.size; i++)
        sn_buf_u8(to, arguments.bytes[i] ? arguments.bytes[i] : ' ');
}

void sn_process_json_redact(struct sn_buf *to, const struct sonde_process *process)
{
    sn_process_json_command_line(to, process, SN_SCOPE_NONE);
}

void sn_process_json_write(struct sn_json *json, const struct sonde_process *process,
                           enum sn_scope scope)
{
    char uid[37];
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(COMMAND_LINE_MAX);
    sn_sight_uid(process, uid);
    sn_process_json_command_line(&line, process, scope);
    sn_json_object(json, NULL);
    sn_json_u64(json, "pid", process->pid);
    sn_json_u64(json, "nsPid", process->ns_pid);
    sn_json_text(json, "uid", uid);
    sn_json_text(json, "name", process->name);
    sn_json_text(json, "runtime", process->runtime);
    sn_json_text(json, "user", process->user);
    sn_json_u64(json, "userId", process->uid);
    sn_json_text(json, "container", process->container);
    sn_json_text(json, "commandLine", sn_buf_string(&line));
    sn_json_text(json, "architecture", process->architecture);
    sn_json_bool(json, "isReachable", process->is_reachable != 0);
    sn_json_text(json, "reason", process->reason);
    sn_json_text(json, "fix", process->fix);
    sn_json_real(json, "upSeconds", (double)process->up_ns / SN_NS_PER_SECOND);
    sn_json_u64(json, "rssBytes", process->rss_bytes);
    sn_json_u64(json, "threadCount", process->thread_count);
    sn_json_close(json);
}

void sn_process_json_list(struct sn_buf *to, const struct sonde_process_list *list,
                          enum sn_scope scope)
{
    struct sn_json json = sn_json_to(to);
    sn_json_object(&json, NULL);
    sn_json_array(&json, "processes");
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (process->pid != (uint32_t)getpid())
            sn_process_json_write(&json, process, scope);
    }
    sn_json_close(&json);
    sn_json_close(&json);
}
