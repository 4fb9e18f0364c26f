#include "base/user.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"

#define PASSWD_LIMIT (1u << 20)

const char *sn_user_name(uint32_t uid, char to[SN_USER_NAME_SIZE])
{
    (void)snprintf(to, SN_USER_NAME_SIZE, "%" PRIu32, uid);
    SN_AUTO(sn_buf_done) struct sn_buf passwd = sn_buf_with_limit(PASSWD_LIMIT);
    struct sonde_error ignored = {0};
    if (sn_file_read_at(AT_FDCWD, "/etc/passwd", &passwd, &ignored) != SONDE_OK || !passwd.size)
        return to;
    (void)sn_buf_string(&passwd); /* ends it with a zero */
    char *rest = NULL;
    for (char *line = strtok_r((char *)passwd.bytes, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *name_end = strchr(line, ':');
        char *id = name_end ? strchr(name_end + 1, ':') : NULL;
        if (!id || strtoull(id + 1, NULL, 10) != uid || name_end - line >= (int)SN_USER_NAME_SIZE)
            continue;
        *name_end = '\0';
        (void)snprintf(to, SN_USER_NAME_SIZE, "%s", line);
        break;
    }
    return to;
}
