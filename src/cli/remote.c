#include "cli/remote.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "daemon/own_hosts.h"
#include "net/control_path.h"
#include "net/http_client.h"
#include "net/url.h"

#define ANSWER_MAX   (64u << 20)
#define KEY_FILE_MAX 8192u
#define GREET_NS     SN_NS_PER_SECOND
#define PATIENCE_NS  (60ull * SN_NS_PER_SECOND)
#define HELLO_PATH   "/api/v1/info"

/* --- members --- */

const char *sn_remote_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

uint64_t sn_remote_u64(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    double real = json_is_real(value) ? json_real_value(value) : -1;
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        return (uint64_t)json_integer_value(value);
    return real >= 0 && real < 1e18 ? (uint64_t)real : 0;
}

double sn_remote_real(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

bool sn_remote_bool(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

/* --- asking --- */

static int take_text(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct sn_buf *text = user;
    sn_buf_append(text, bytes, size);
    return text->failed
               ? sn_fail(err, SONDE_E_LIMIT, 0, "the answer has more than %u bytes", ANSWER_MAX)
               : SONDE_OK;
}

/* What changes that. */
static const char *advice(const struct sn_remote *remote, const struct sonde_error *cause)
{
    const struct sn_http_answer *answer = sn_http_client_answer(remote->client);
    bool is_https = strncmp(sn_http_client_url(remote->client), "https:", 6) == 0;
    if (answer->status == 401)
        return "; give a key: SONDE_KEY, or --host-key-file FILE";
    if (answer->status == 403)
        return "; give another key: SONDE_KEY, or --host-key-file FILE";
    if (strstr(cause->text, "no TLS with") && strstr(cause->text, "certificate"))
        return "; if it is the right one, give --host-pin SHA256 or --host-ca FILE";
    if (is_https && strstr(cause->text, "no TLS with"))
        return "; perhaps it speaks plain http there: --host http://...";
    if (!is_https && !answer->status && cause->status == SONDE_E_GONE)
        return "; perhaps it speaks TLS there: --host https://...";
    return "";
}

/* What a problem+json says; a page for browsers says nothing. */
int sn_remote_fail(struct sn_remote *remote, const struct sonde_error *cause,
                   struct sonde_error *err)
{
    const struct sn_http_answer *answer = sn_http_client_answer(remote->client);
    bool is_problem = cause->status < 0 && strstr(answer->type, "json") && answer->status >= 400;
    json_t *problem =
        is_problem ? json_loads(sn_http_client_problem(remote->client), 0, NULL) : NULL;
    const char *detail = sn_remote_text(problem, "detail");
    const char *title = sn_remote_text(problem, "title");
    const char *more = advice(remote, cause);
    bool is_mute = strstr(more, "speaks"); /* another language: that is no connection */
    int rc = SONDE_OK;
    if (detail[0] || title[0])
        rc = sn_fail(err, cause->status, 0, "%.300s: HTTP %u: %.300s%s",
                     sn_http_client_url(remote->client), answer->status, detail[0] ? detail : title,
                     more);
    else
        rc = *more ? sn_fail(err, is_mute ? SONDE_E_REFUSED : cause->status, 0, "%.400s%s",
                             cause->text, more)
                   : sn_fail_as(err, cause);
    json_decref(problem);
    return rc;
}

static int read_json(struct sn_remote *remote, struct sn_buf *text, json_t **ret_json,
                     struct sonde_error *err)
{
    json_error_t where;
    if (!text->size) {
        *ret_json = NULL;
        return SONDE_OK;
    }
    json_t *json = json_loadb((const char *)text->bytes, text->size, 0, &where);
    if (!json)
        return sn_fail(err, SONDE_E_FORMAT, 0, "%.200s: the answer is no JSON (line %d)",
                       sn_http_client_url(remote->client), where.line);
    *ret_json = json;
    return SONDE_OK;
}

static int ask(struct sn_remote *remote, const struct sn_http_request *request,
               struct sonde_error *err)
{
    struct sonde_error cause = {0};
    int rc = sn_http_client_ask(remote->client, request, &cause);
    return rc >= 0 ? rc : sn_remote_fail(remote, &cause, err);
}

int sn_remote_ask(struct sn_remote *remote, const char *method, const char *path,
                  const json_t *body, json_t **ret_json, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(ANSWER_MAX);
    SN_AUTO(sn_free) char *written = body ? json_dumps(body, JSON_COMPACT) : NULL;
    if (body && !written)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a request");
    struct sn_http_request request = {.method = method,
                                      .path = path,
                                      .accept = "application/json",
                                      .body = written,
                                      .body_size = written ? strlen(written) : 0,
                                      .take = take_text,
                                      .user = &text};
    int rc = ask(remote, &request, err);
    return rc == SONDE_OK && ret_json ? read_json(remote, &text, ret_json, err) : rc;
}

int sn_remote_fetch(struct sn_remote *remote, const char *path, const char *accept,
                    sn_http_body_fn *take, void *user, struct sonde_error *err)
{
    struct sn_http_request request = {
        .method = "GET", .path = path, .accept = accept, .take = take, .user = user};
    return ask(remote, &request, err);
}

/* --- which --- */

static const char *named_host(const struct sn_remote_choice *choice)
{
    const char *host = choice->host ? choice->host : getenv("SONDE_HOST");
    return host && host[0] ? host : NULL;
}

static bool is_none(const char *host)
{
    return strcmp(host, "none") == 0;
}

bool sn_remote_is_named(const struct sn_remote_choice *choice)
{
    const char *host = named_host(choice);
    return host && !is_none(host);
}

int sn_remote_refuse(const struct sn_remote_choice *choice, const char *what,
                     struct sonde_error *err)
{
    return sn_remote_is_named(choice)
               ? sn_fail(err, SONDE_E_ARGUMENT, 0, "%s does not go through a controller (--host)",
                         what)
               : SONDE_OK;
}

/* The first line of the file, or of the environment. `to` has room for KEY_FILE_MAX bytes. */
static int read_key(const struct sn_remote_choice *choice, char *to, struct sonde_error *err)
{
    const char *key = getenv("SONDE_KEY");
    const char *path = choice->key_file ? choice->key_file : getenv("SONDE_KEY_FILE");
    to[0] = '\0';
    if (!path || (!choice->key_file && key && key[0])) {
        (void)snprintf(to, KEY_FILE_MAX, "%s", key ? key : "");
        return SONDE_OK;
    }
    ssize_t got = sn_file_peek_at(AT_FDCWD, path, to, KEY_FILE_MAX);
    if (got < 0)
        return sn_fail_errno(err, "cannot read the key in %s", path);
    to[strcspn(to, "\r\n")] = '\0';
    return to[0] ? SONDE_OK : sn_fail(err, SONDE_E_ARGUMENT, 0, "there is no key in %s", path);
}

static int new_remote(const struct sn_http_client_options *options, struct sn_remote **ret_remote,
                      struct sonde_error *err)
{
    struct sn_remote *remote = calloc(1, sizeof(*remote));
    if (!remote)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a controller");
    int rc = sn_http_client_new(options, &remote->client, err);
    if (rc != SONDE_OK) {
        sn_remote_close(remote);
        return rc;
    }
    remote->stop_fd = options->stop_fd;
    *ret_remote = remote;
    return SONDE_OK;
}

/* Says who it is: anybody can listen anywhere. */
static int greet(struct sn_remote *remote, struct sonde_error *err)
{
    json_t *hello = NULL;
    int rc = sn_remote_ask(remote, "GET", HELLO_PATH, NULL, &hello, err);
    const char *product = sn_remote_text(hello, "name");
    const char *version = sn_remote_text(hello, "version");
    if (rc == SONDE_OK && strcmp(product, "sonde") != 0)
        rc = sn_fail(err, SONDE_E_UNSUPPORTED, 0, "%.200s is no controller of sonde",
                     sn_http_client_url(remote->client));
    if (rc == SONDE_OK && strcmp(version, SONDE_VERSION) != 0)
        rc = sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                     "%.200s is sonde %.32s, we are %s: use the same version on both sides",
                     sn_http_client_url(remote->client), version, SONDE_VERSION);
    double interval = sn_remote_real(hello, "intervalSeconds");
    remote->interval_ns = interval > 0 && interval < 1e6 ? (uint64_t)(interval * 1e9) : 0;
    remote->has_counters = sn_remote_bool(hello, "hasCounters");
    remote->has_usual_counters = sn_remote_bool(hello, "hasUsualCounters");
    json_decref(hello);
    sn_http_client_set_timeout(remote->client, PATIENCE_NS);
    return rc;
}

/* Whoever is on the way reads what goes over plain http, and has the key from then on. */
static int check_way(const struct sn_remote_choice *choice, const char *key,
                     struct sonde_error *err)
{
    struct sn_url url;
    const char *host = named_host(choice);
    if (!key[0] || choice->is_plain || strncasecmp(host, "http://", 7) != 0)
        return SONDE_OK;
    int rc = sn_url_parse(host, &url, err);
    if (rc != SONDE_OK || sn_own_hosts_is_loopback(url.host))
        return rc;
    return sn_fail(err, SONDE_E_DENIED, 0,
                   "the key would go to %.200s in clear: use https://, or say --host-plain",
                   url.host);
}

static int open_named(const struct sn_remote_choice *choice, int stop_fd,
                      struct sn_remote **ret_remote, struct sonde_error *err)
{
    char key[KEY_FILE_MAX];
    struct sn_remote *remote = NULL;
    int rc = read_key(choice, key, err);
    struct sn_http_client_options options = {
        .url = named_host(choice),
        .key = key[0] ? key : NULL,
        .ca_file = choice->ca_file,
        .pin = choice->tls_pin,
        .stop_fd = stop_fd,
    };
    if (rc == SONDE_OK)
        rc = check_way(choice, key, err);
    if (rc == SONDE_OK)
        rc = new_remote(&options, &remote, err);
    explicit_bzero(key, sizeof(key));
    if (remote)
        rc = greet(remote, err);
    if (rc != SONDE_OK || !remote) {
        sn_remote_close(remote);
        return rc;
    }
    remote->is_named = true;
    *ret_remote = remote;
    return SONDE_OK;
}

/* One that does not answer at once, does not know us or is of another version is as good as none.
 */
static struct sn_remote *open_local(int stop_fd)
{
    char paths[SN_CONTROL_PATHS][SN_CONTROL_PATH_SIZE];
    size_t count = sn_control_paths(paths);
    for (size_t i = 0; i < count; i++) {
        char url[SN_CONTROL_PATH_SIZE + 8];
        struct sn_remote *remote = NULL;
        (void)snprintf(url, sizeof(url), "unix:%.107s", paths[i]);
        struct sn_http_client_options options = {.url = url,
                                                 .timeout_ns = GREET_NS,
                                                 .stop_fd = stop_fd,
                                                 .checks_peer = true,
                                                 .peer_uid = geteuid()};
        if (access(paths[i], W_OK) != 0)
            continue;
        if (new_remote(&options, &remote, NULL) == SONDE_OK && remote &&
            greet(remote, NULL) == SONDE_OK)
            return remote;
        sn_remote_close(remote);
    }
    return NULL;
}

int sn_remote_open(const struct sn_remote_choice *choice, bool uses_any, int stop_fd,
                   struct sn_remote **ret_remote, struct sonde_error *err)
{
    const char *host = named_host(choice);
    *ret_remote = NULL;
    if (host && !is_none(host))
        return open_named(choice, stop_fd, ret_remote, err);
    if (choice->key_file || choice->ca_file || choice->tls_pin || choice->is_plain)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--host-key-file, --host-ca, --host-pin and --host-plain are for a "
                       "controller: which? give --host URL");
    if (!host && uses_any)
        *ret_remote = open_local(stop_fd);
    return SONDE_OK;
}

void sn_remote_close(struct sn_remote *remote)
{
    if (!remote)
        return;
    sn_http_client_free(remote->client);
    free(remote);
}
