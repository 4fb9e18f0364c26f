#include "daemon/audit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"

#define SIZE_MAX_BYTES (16u << 20)
#define LINE_LIMIT     4096u
#define PATH_SHOWN     512u
#define REFUSED_MAX    100u
#define REFUSED_NS     (10ull * SN_NS_PER_SECOND)

struct sn_audit {
    char *path;     /* owns */
    char *old_path; /* owns */
    int fd;
    uint64_t size;
    uint64_t lost_count;      /* not told yet */
    uint64_t refused_from_ns; /* when counting began */
    unsigned refused_count;   /* since then */
    uint64_t omitted_count;   /* not told yet */
};

void sn_audit_close(struct sn_audit *audit)
{
    if (!audit)
        return;
    sn_close(audit->fd);
    free(audit->path);
    free(audit->old_path);
    free(audit);
}

/* Leaves errno. */
static bool open_file(struct sn_audit *audit)
{
    struct stat facts;
    audit->fd =
        open(audit->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (audit->fd < 0)
        return false;
    audit->size = fstat(audit->fd, &facts) == 0 ? (uint64_t)facts.st_size : 0;
    return true;
}

int sn_audit_open(const char *path, struct sn_audit **ret_audit, struct sonde_error *err)
{
    struct sn_audit *audit = calloc(1, sizeof(*audit));
    if (!audit)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the audit log");
    audit->fd = -1;
    audit->path = strdup(path);
    if (!audit->path || asprintf(&audit->old_path, "%s.1", path) < 0) {
        audit->old_path = NULL;
        sn_audit_close(audit);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the audit log");
    }
    if (!open_file(audit)) {
        int rc = sn_fail_errno(err, "cannot write the audit log %.200s", path);
        sn_audit_close(audit);
        return rc;
    }
    *ret_audit = audit;
    return SONDE_OK;
}

static bool is_refusal(const struct sn_audit_entry *entry)
{
    return entry->status == 401 || entry->status == 403 || entry->status == 421 ||
           (entry->needed == SN_SCOPE_NONE && (entry->status == 400 || entry->status == 415));
}

bool sn_audit_wants(const struct sn_audit_entry *entry)
{
    bool is_reading = strcmp(entry->method, "GET") == 0 || strcmp(entry->method, "HEAD") == 0;
    if (is_refusal(entry))
        return true;
    if (entry->status == 404 || entry->status == 405)
        return false;
    return !is_reading || entry->needed >= SN_SCOPE_CONTROL || entry->is_archive;
}

static void put_lost(struct sn_json *json, const struct sn_audit *audit)
{
    if (audit->lost_count)
        sn_json_u64(json, "lost", audit->lost_count);
}

/* False: there were too many of late. */
static bool may_tell_refusal(struct sn_audit *audit)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    if (now_ns - audit->refused_from_ns > REFUSED_NS) {
        audit->refused_from_ns = now_ns;
        audit->refused_count = 0;
    }
    return audit->refused_count++ < REFUSED_MAX;
}

static void put_line(struct sn_buf *to, const struct sn_audit *audit,
                     const struct sn_audit_entry *entry)
{
    char time[32];
    struct sn_json json = sn_json_to(to);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "time", sn_clock_rfc3339(sn_clock_utc_ns(), time));
    sn_json_text(&json, "who", entry->who->name);
    sn_json_text(&json, "kind", entry->who->kind ? entry->who->kind : "none");
    sn_json_text(&json, "scope", sn_scope_name(entry->who->scope));
    sn_json_text(&json, "peer", entry->peer);
    sn_json_text(&json, "method", entry->method);
    sn_json_bytes(&json, "path", entry->path, strnlen(entry->path, PATH_SHOWN));
    sn_json_u64(&json, "status", entry->status);
    if (entry->pid)
        sn_json_u64(&json, "pid", entry->pid);
    if (entry->about && *entry->about)
        sn_json_text(&json, "about", entry->about);
    sn_json_u64(&json, "ms", entry->took_ns / SN_NS_PER_MS);
    if (audit->omitted_count)
        sn_json_u64(&json, "omitted", audit->omitted_count);
    put_lost(&json, audit);
    sn_json_close(&json);
    sn_buf_u8(to, '\n');
}

static bool is_whole(const struct sn_audit *audit, ssize_t wrote, size_t size)
{
    struct stat facts;
    if (wrote == (ssize_t)size)
        return true;
    if (wrote > 0 && fstat(audit->fd, &facts) == 0) /* the disk got full within the line */
        (void)!ftruncate(audit->fd, facts.st_size - (off_t)wrote);
    return false;
}

/* One write: lines are whole, or not there. */
static bool write_line(struct sn_audit *audit, const struct sn_buf *line)
{
    if (audit->fd < 0)
        (void)open_file(audit);
    if (line->failed || audit->fd < 0 ||
        !is_whole(audit, write(audit->fd, line->bytes, line->size), line->size))
        return false;
    audit->size += line->size;
    audit->lost_count = 0;
    return true;
}

static void put_aside(struct sn_audit *audit)
{
    (void)rename(audit->path, audit->old_path);
    sn_close(audit->fd);
    (void)open_file(audit);
}

void sn_audit_write(struct sn_audit *audit, const struct sn_audit_entry *entry)
{
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(LINE_LIMIT);
    if (is_refusal(entry) && !may_tell_refusal(audit)) {
        audit->omitted_count++;
        return;
    }
    put_line(&line, audit, entry);
    if (audit->fd >= 0 && audit->size + line.size > SIZE_MAX_BYTES)
        put_aside(audit);
    if (write_line(audit, &line))
        audit->omitted_count = 0;
    else
        audit->lost_count++;
}

bool sn_audit_catch_up(struct sn_audit *audit)
{
    char time[32];
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(LINE_LIMIT);
    struct sn_json json = sn_json_to(&line);
    if (!audit->lost_count)
        return true;
    sn_json_object(&json, NULL);
    sn_json_text(&json, "time", sn_clock_rfc3339(sn_clock_utc_ns(), time));
    put_lost(&json, audit);
    sn_json_close(&json);
    sn_buf_u8(&line, '\n');
    return write_line(audit, &line);
}
