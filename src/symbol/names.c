#include "symbol/names.h"

#include <string.h>

#include "base/buf.h"

void sn_name_readable(struct sn_buf *to, const char *type, const char *method)
{
    sn_buf_text(to, type);
    sn_buf_text(to, type[0] ? "." : "");
    sn_buf_text(to, method);
}

void sn_name_full(struct sn_buf *to, const char *type, const char *method, const char *signature)
{
    sn_name_readable(to, type, method);
    const char *arguments = strchr(signature, '(');
    sn_buf_text(to, arguments ? arguments : "");
}

void sn_name_space(struct sn_buf *to, const char *type)
{
    size_t size = strcspn(type, "+`[<");
    while (size && type[size - 1] != '.')
        size--;
    sn_buf_append(to, type, size ? size - 1 : 0);
}

void sn_name_type(struct sn_buf *to, const char *type)
{
    sn_buf_text(to, type);
}

bool sn_name_is_async(const char *type, const char *method, const char *signature)
{
    (void)signature;
    return strstr(type, ">d__") && strcmp(method, "MoveNext") == 0;
}

bool sn_name_is_framework(const char *module, const char *name_space)
{
    (void)name_space;
    return strncmp(module, "System.", 7) == 0 || strncmp(module, "Microsoft.", 10) == 0;
}

bool sn_name_is_waiting(const char *type, const char *method)
{
    return strcmp(type, "System.Threading.Thread") == 0 && strncmp(method, "Sleep", 5) == 0;
}
