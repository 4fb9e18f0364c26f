#include "api/port_variable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char **sn_port_environment(const char *setting, char **ret_variable)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **copy = calloc(count + 2, sizeof(*copy));
    if (!copy)
        return NULL;
    const char *present = getenv(SN_PORTS_VARIABLE);
    char *variable = NULL;
    int length = present && *present
                     ? asprintf(&variable, SN_PORTS_VARIABLE "=%s;%s", present, setting)
                     : asprintf(&variable, SN_PORTS_VARIABLE "=%s", setting);
    if (length < 0) {
        free(copy);
        return NULL;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], SN_PORTS_VARIABLE "=", strlen(SN_PORTS_VARIABLE) + 1) != 0)
            copy[kept++] = environ[i];
    }
    copy[kept] = variable;
    *ret_variable = variable;
    return copy;
}
