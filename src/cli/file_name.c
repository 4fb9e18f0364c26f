#include "cli/file_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "sonde/process.h"

void sn_file_name_safe(struct sn_buf *to, const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *at = slash ? slash + 1 : path; *at; at++) {
        bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                        (*at >= '0' && *at <= '9') || strchr("._-+", *at);
        sn_buf_u8(to, is_plain ? (uint8_t)*at : '_');
    }
}

void sn_file_name_process(struct sn_buf *to, uint32_t pid, const char *otherwise)
{
    struct sonde_process_list *list = NULL;
    size_t before = to->size;
    if (sonde_process_list_new(&list, NULL) == SONDE_OK) {
        for (size_t i = 0; i < sonde_process_list_count(list); i++) {
            const struct sonde_process *process = sonde_process_list_get(list, i);
            if (process->pid == pid)
                sn_file_name_safe(to, process->name);
        }
    }
    sonde_process_list_free(list);
    if (to->size == before)
        sn_buf_text(to, otherwise);
}

void sn_file_name_stamp(struct sn_buf *to, const char *ending)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm parts;
    if (!localtime_r(&now, &parts))
        parts = (struct tm){.tm_mday = 1};
    (void)strftime(stamp, sizeof(stamp), "_%Y%m%d_%H%M%S", &parts);
    sn_buf_text(to, stamp);
    sn_buf_text(to, ending);
}
