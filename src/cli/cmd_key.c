/* sonde key: makes, lists and revokes the keys of the controller, and asks it for links. */
#include "cli/commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/style.h"
#include "cli/remote.h"
#include "cli/terminal.h"
#include "daemon/key_file.h"
#include "daemon/state_folder.h"
#include "net/http_client.h"

#define OUTPUT_LIMIT (1u << 20)

struct arguments {
    const char *scope;
    const char *name;
    const char *state;
    uint64_t expires_ns;
    bool json;
    struct sn_remote_choice remote;
};

static const struct sn_option options[] = {
    {0, "scope", SN_OPTION_TEXT, offsetof(struct arguments, scope), "SCOPE",
     "add: metrics < read < control < attach < secrets (read)"},
    {0, "name", SN_OPTION_TEXT, offsetof(struct arguments, name), "NAME",
     "add: what the audit log calls it (its id)"},
    {0, "expires", SN_OPTION_DURATION, offsetof(struct arguments, expires_ns), "TIME",
     "add: how long it is good: 12h (until revoked)"},
    {0, "state", SN_OPTION_TEXT, offsetof(struct arguments, state), "FOLDER",
     "the controller's state folder (~/.local/state/sonde)"},
    {0, "json", SN_OPTION_FLAG, offsetof(struct arguments, json), NULL, "JSON"},
    SN_REMOTE_OPTIONS(offsetof(struct arguments, remote)),
    SN_OPTIONS_END,
};

/* "" for never. */
static const char *time_text(uint64_t s, char to[32])
{
    *to = '\0';
    return s ? sn_clock_rfc3339(s * SN_NS_PER_SECOND, to) : to;
}

static void put_key(struct sn_json *json, const struct sn_key *key)
{
    char text[32];
    sn_json_text(json, "id", key->id);
    sn_json_text(json, "name", key->name);
    sn_json_text(json, "scope", sn_scope_name(key->scope));
    sn_json_text(json, "created", time_text(key->created_s, text));
    sn_json_text(json, "expires", key->expires_s ? time_text(key->expires_s, text) : NULL);
}

static int print_object(const struct sn_key *key, const char *token)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_LIMIT);
    struct sn_json json = sn_json_to(&out);
    sn_json_object(&json, NULL);
    put_key(&json, key);
    if (token)
        sn_json_text(&json, "token", token);
    sn_json_close(&json);
    return sn_terminal_flush(&out) ? SN_EXIT_DONE : SN_EXIT_FAILED;
}

/* --- the sub-words --- */

static int add(const char *folder, const struct arguments *arguments)
{
    char token[SN_TOKEN_SIZE];
    char text[32];
    struct sn_key key = {0};
    struct sonde_error err = {0};
    int scope = arguments->scope ? sn_scope_find(arguments->scope) : SN_SCOPE_READ;
    const char *name = arguments->name ? arguments->name : "";
    if (scope < 0 || strlen(name) > SN_KEY_NAME_MAX) {
        (void)sn_fail(&err, SONDE_E_ARGUMENT, 0,
                      scope < 0 ? "--scope is one of metrics, read, control, attach and secrets"
                                : "--name is longer than 64 characters");
        return sn_command_fail(&err);
    }
    key.scope = (enum sn_scope)scope;
    (void)snprintf(key.name, sizeof(key.name), "%s", name);
    if (arguments->expires_ns)
        key.expires_s = (sn_clock_utc_ns() + arguments->expires_ns) / SN_NS_PER_SECOND;
    if (sn_key_file_add(folder, &key, token, &err) != SONDE_OK)
        return sn_command_fail(&err);
    if (arguments->json)
        return print_object(&key, token);
    (void)printf("%s\n", token);
    (void)fprintf(stderr,
                  "sonde: the key %s (scope %s%s%s) is shown this once; send it as "
                  "'Authorization: Bearer KEY'\n",
                  key.name, sn_scope_name(key.scope), key.expires_s ? ", until " : "",
                  time_text(key.expires_s, text));
    return fflush(stdout) == 0 ? SN_EXIT_DONE : SN_EXIT_FAILED;
}

static int print_list(const struct sn_key_list *list)
{
    char created[32];
    char expires[32];
    uint64_t now_s = sn_clock_utc_ns() / SN_NS_PER_SECOND;
    (void)printf("%-8s  %-20s  %-8s  %-20s  %s\n", "ID", "NAME", "SCOPE", "CREATED", "EXPIRES");
    for (size_t i = 0; i < list->count; i++) {
        const struct sn_key *key = &list->keys[i];
        bool is_over = key->expires_s && key->expires_s <= now_s;
        (void)time_text(key->created_s, created);
        (void)time_text(key->expires_s, expires);
        (void)printf("%-8s  %-20s  %-8s  %.19sZ  %.19s%s%s\n", key->id, key->name,
                     sn_scope_name(key->scope), created, *expires ? expires : "never",
                     *expires ? "Z" : "", is_over ? " (over)" : "");
    }
    return fflush(stdout) == 0 ? SN_EXIT_DONE : SN_EXIT_FAILED;
}

static int print_json_list(const struct sn_key_list *list)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_LIMIT);
    struct sn_json json = sn_json_to(&out);
    sn_json_array(&json, NULL);
    for (size_t i = 0; i < list->count; i++) {
        sn_json_object(&json, NULL);
        put_key(&json, &list->keys[i]);
        sn_json_close(&json);
    }
    sn_json_close(&json);
    return sn_terminal_flush(&out) ? SN_EXIT_DONE : SN_EXIT_FAILED;
}

static int show(const char *folder, const struct arguments *arguments)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_key_list_done) struct sn_key_list list = {0};
    if (sn_key_file_read(folder, &list, &err) != SONDE_OK)
        return sn_command_fail(&err);
    return arguments->json ? print_json_list(&list) : print_list(&list);
}

static int end_key(const char *folder, const char *which, const struct arguments *arguments)
{
    struct sn_key key;
    struct sonde_error err = {0};
    if (sn_key_file_revoke(folder, which, &key, &err) != SONDE_OK)
        return sn_command_fail(&err);
    if (arguments->json)
        return print_object(&key, NULL);
    (void)printf("revoked %s (%s, scope %s)\n", key.id, key.name, sn_scope_name(key.scope));
    return fflush(stdout) == 0 ? SN_EXIT_DONE : SN_EXIT_FAILED;
}

/* --- links --- */

/* Who reached the controller by an address of his own opens the page there, too. */
static void print_link(struct sn_remote *remote, const json_t *link)
{
    const char *host = sn_http_client_url(remote->client);
    bool is_web = remote->is_named && strncmp(host, "http", 4) == 0;
    size_t size = strlen(host);
    while (size && host[size - 1] == '/')
        size--;
    if (is_web)
        (void)printf("%.*s/#code=", (int)size, host);
    sn_terminal_put(stdout, SN_STYLE_NONE, sn_remote_text(link, is_web ? "code" : "url"));
    (void)putchar('\n');
    (void)fputs("sonde: good once, for ten minutes, for every scope\n", stderr);
}

static int make_link(const struct arguments *arguments)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_remote_close) struct sn_remote *remote = NULL;
    json_t *link = NULL;
    (void)signal(SIGPIPE, SIG_IGN); /* a controller that ends is an error, not our end */
    int rc = sn_remote_open(&arguments->remote, true, -1, &remote, &err);
    if (rc == SONDE_OK && !remote)
        rc = sn_fail(&err, SONDE_E_NOT_FOUND, 0,
                     "no controller of yours runs here: start one with 'sonde serve', which prints "
                     "a link, or name one with --host URL");
    if (rc == SONDE_OK)
        rc = sn_remote_ask(remote, "POST", "/api/v1/links", NULL, &link, &err);
    if (rc != SONDE_OK || !remote)
        return sn_command_fail(&err);
    if (arguments->json)
        (void)json_dumpf(link, stdout, JSON_COMPACT);
    if (arguments->json)
        (void)putchar('\n');
    else
        print_link(remote, link);
    json_decref(link);
    return fflush(stdout) == 0 ? SN_EXIT_DONE : SN_EXIT_FAILED;
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    const char *verb = operands->count ? operands->words[0] : "";
    bool is_add = strcmp(verb, "add") == 0;
    struct sonde_error err = {0};
    SN_AUTO(sn_free) char *folder = NULL;
    if (sn_state_folder_path(arguments->state, &folder, &err) != SONDE_OK)
        return sn_command_fail(&err);
    if (!is_add && (arguments->scope || arguments->name || arguments->expires_ns))
        (void)sn_fail(&err, SONDE_E_ARGUMENT, 0, "--scope, --name and --expires are for 'key add'");
    else if (strcmp(verb, "link") == 0 && operands->count == 1)
        return make_link(arguments);
    else if (arguments->remote.host)
        (void)sn_fail(&err, SONDE_E_ARGUMENT, 0,
                      "--host is for 'key link': keys are made where their controller runs, or on "
                      "its page");
    else if (is_add && operands->count == 1)
        return add(folder, arguments);
    else if (strcmp(verb, "list") == 0 && operands->count == 1)
        return show(folder, arguments);
    else if (strcmp(verb, "revoke") == 0 && operands->count == 2)
        return end_key(folder, operands->words[1], arguments);
    (void)sn_fail(&err, SONDE_E_ARGUMENT, 0,
                  "'key add' makes a key, 'key list' shows them, 'key revoke ID' ends one, 'key "
                  "link' lets a browser in");
    return sn_command_fail(&err);
}

const struct sn_command sn_cmd_key = {
    .name = "key",
    .usage = "(add | list | revoke ID | link) [options]",
    .summary = "make, list and revoke the keys of the controller, and links to its page",
    .examples = "  sonde key add --scope read --name grafana\n"
                "  sonde key add --scope control --name deploy --expires 12h --json\n"
                "  sonde key list\n"
                "  sonde key revoke grafana\n"
                "  sonde key link\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .operand_max = 2,
    .words = "add list revoke link",
    .is_offline = true,
    .run = run,
};
