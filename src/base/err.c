#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 5, 0))) static void write_cause(struct sonde_error *err, int status,
                                                              uint64_t offset, int system_error,
                                                              const char *format, va_list args)
{
    if (!err || err->status)
        return;
    err->status = status;
    err->offset = offset;
    err->system_error = system_error;
    int length = vsnprintf(err->text, sizeof(err->text), format, args);
    if (!system_error || length < 0 || (size_t)length >= sizeof(err->text))
        return;
    char buffer[128];
    const char *reason = strerror_r(system_error, buffer, sizeof(buffer));
    (void)snprintf(err->text + length, sizeof(err->text) - (size_t)length, ": %s", reason);
}

int sn_fail(struct sonde_error *err, int status, uint64_t offset, const char *format, ...)
{
    int saved = errno;
    va_list args;
    va_start(args, format);
    write_cause(err, status, offset, status == SONDE_E_SYSTEM ? saved : 0, format, args);
    va_end(args);
    errno = saved;
    return status;
}

static int status_of_errno(int system_error)
{
    switch (system_error) {
    case ENOENT:
    case ENOTDIR: return SONDE_E_NOT_FOUND;
    case EACCES:
    case EPERM: return SONDE_E_DENIED;
    case ENOMEM: return SONDE_E_NOMEM;
    case ESRCH:
    case EPIPE:
    case ECONNRESET: return SONDE_E_GONE;
    case ETIMEDOUT: return SONDE_E_TIMEOUT;
    default: return SONDE_E_SYSTEM;
    }
}

int sn_fail_errno(struct sonde_error *err, const char *format, ...)
{
    int saved = errno;
    int status = status_of_errno(saved);
    va_list args;
    va_start(args, format);
    write_cause(err, status, 0, saved, format, args);
    va_end(args);
    errno = saved;
    return status;
}

int sn_fail_because(struct sonde_error *err, const struct sonde_error *cause, const char *prefix)
{
    if (err && !err->status) {
        *err = *cause;
        (void)snprintf(err->text, sizeof(err->text), "%.160s: %.220s", prefix, cause->text);
    }
    return cause->status;
}

const char *sonde_status_name(int status)
{
    switch (status) {
    case SONDE_OK: return "ok";
    case SONDE_END: return "end";
    case SONDE_AGAIN: return "again";
    case SONDE_E_SYSTEM: return "system error";
    case SONDE_E_NOMEM: return "out of memory";
    case SONDE_E_TRUNCATED: return "truncated";
    case SONDE_E_FORMAT: return "bad format";
    case SONDE_E_LIMIT: return "over a limit";
    case SONDE_E_UNSUPPORTED: return "unsupported";
    case SONDE_E_ARGUMENT: return "bad argument";
    case SONDE_E_NOT_FOUND: return "not found";
    case SONDE_E_DENIED: return "denied";
    case SONDE_E_TIMEOUT: return "timed out";
    case SONDE_E_REFUSED: return "refused by the runtime";
    case SONDE_E_GONE: return "gone";
    case SONDE_E_BUSY: return "busy";
    default: return "unknown status";
    }
}

int sn_fail_as(struct sonde_error *err, const struct sonde_error *cause)
{
    if (err && !err->status)
        *err = *cause;
    return cause->status;
}
