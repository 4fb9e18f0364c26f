/* Who is let in, as what, and what is refused whoever asks. */
#include "check.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "daemon/access.h"
#include "daemon/key_file.h"
#include "daemon/serve.h"
#include "daemon/session_file.h"
#include "jwt_tokens.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/access_test.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[128];
    static const char *const names[] = {"keys", "key", "sessions"};
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

static struct sn_access *open_access(struct sn_access_options options)
{
    struct sn_access *access = NULL;
    struct sonde_error err = {0};
    options.state_folder = folder;
    if (sn_access_new(&options, &access, &err) != SONDE_OK ||
        sn_access_allow_host(access, "127.0.0.1:52380", &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return access;
}

/* A plain request to be changed by each case. */
static struct sn_visit visit_of(const char *method)
{
    return (struct sn_visit){.method = method,
                             .query = "",
                             .host = "localhost:52380",
                             .tag = SN_PLACE_API,
                             .peer = "127.0.0.1:5123"};
}

static struct sn_identity who(struct sn_access *access, const struct sn_visit *visit)
{
    struct sn_identity identity;
    const char *why = NULL;
    sn_access_who(access, visit, &identity, &why);
    assert_non_null(why);
    return identity;
}

/* --- keys and tokens --- */

static void a_key_gives_its_scope_and_name(void **state)
{
    (void)state;
    char header[128];
    char token[SN_TOKEN_SIZE];
    struct sonde_error err = {0};
    struct sn_access *access = open_access((struct sn_access_options){0});
    struct sn_key key = {.scope = SN_SCOPE_CONTROL, .name = "deploy"};
    assert_int_equal(sn_key_file_add(folder, &key, token, &err), SONDE_OK);
    struct sn_visit visit = visit_of("GET");
    visit.authorization = header;
    (void)snprintf(header, sizeof(header), "Bearer %s", token);
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_CONTROL);
    assert_string_equal(who(access, &visit).name, "deploy");
    assert_string_equal(who(access, &visit).kind, "key");
    (void)snprintf(header, sizeof(header), "bearer  %s", token);
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_CONTROL);
    (void)snprintf(header, sizeof(header), "Bearer %sx", token);
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_NONE);
    (void)snprintf(header, sizeof(header), "Basic %s", token);
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_NONE);
    visit.authorization = "Bearer";
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_NONE);
    sn_access_free(access);
}

static void a_wrong_key_is_not_made_good_by_anything_else(void **state)
{
    (void)state;
    struct sn_access *access = open_access(
        (struct sn_access_options){.anonymous = SN_SCOPE_READ, .certificate = SN_SCOPE_CONTROL});
    struct sn_visit visit = visit_of("GET");
    visit.client_name = "CN=ops";
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_CONTROL);
    visit.authorization = "Bearer sonde_wrong";
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_NONE);
    sn_access_free(access);
}

static void tokens_count_only_when_their_key_is_configured(void **state)
{
    (void)state;
    char header[2048];
    struct sn_access *without = open_access((struct sn_access_options){0});
    struct sn_access *with = open_access((struct sn_access_options){
        .jwt_public_key = good_tokens[0].public_key, .jwt_subject = TEST_SUBJECT});
    (void)snprintf(header, sizeof(header), "Bearer %s", good_tokens[0].token);
    struct sn_visit visit = visit_of("GET");
    visit.authorization = header;
    assert_int_equal(who(without, &visit).scope, SN_SCOPE_NONE);
    assert_int_equal(who(with, &visit).scope, SN_SCOPE_SECRETS);
    assert_string_equal(who(with, &visit).kind, "jwt");
    (void)snprintf(header, sizeof(header), "Bearer %s", good_tokens[3].token);
    assert_int_equal(who(with, &visit).scope, SN_SCOPE_NONE);
    sn_access_free(without);
    sn_access_free(with);
}

static void nobody_is_served_without_a_name_unless_said(void **state)
{
    (void)state;
    struct sn_access *closed = open_access((struct sn_access_options){0});
    struct sn_access *open = open_access((struct sn_access_options){.anonymous = SN_SCOPE_READ});
    struct sn_visit visit = visit_of("GET");
    assert_int_equal(who(closed, &visit).scope, SN_SCOPE_NONE);
    assert_int_equal(who(open, &visit).scope, SN_SCOPE_READ);
    visit.fetch_site = "cross-site"; /* the browser of somebody who looks at another page */
    assert_int_equal(who(open, &visit).scope, SN_SCOPE_NONE);
    visit.tag = SN_PLACE_METRICS;
    assert_int_equal(who(closed, &visit).scope, SN_SCOPE_METRICS);
    sn_access_free(closed);
    sn_access_free(open);
}

static void a_socket_is_for_its_own_user_and_root(void **state)
{
    (void)state;
    struct sn_access *access = open_access((struct sn_access_options){0});
    struct sn_visit visit = visit_of("GET");
    visit.is_local = true;
    visit.tag = SN_PLACE_LOCAL;
    visit.uid = geteuid();
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_SECRETS);
    visit.uid = 0;
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_SECRETS);
    visit.uid = geteuid() + 4711;
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_NONE);
    sn_access_free(access);
}

/* --- browsers --- */

/* The cookie that a code gave, as a browser sends it back. */
static void log_in(struct sn_access *access, char cookie[128])
{
    char code[48];
    char header[256];
    struct sonde_error err = {0};
    struct sn_identity browser;
    assert_int_equal(sn_access_new_code(access, NULL, code, &err), SONDE_OK);
    assert_int_equal(sn_access_redeem(access, code, true, header, &browser, &err), SONDE_OK);
    assert_int_equal(browser.scope, SN_SCOPE_SECRETS);
    assert_non_null(strstr(header, "; HttpOnly; SameSite=Strict; Secure"));
    (void)snprintf(cookie, 128, "%.*s", (int)strcspn(header, ";"), header);
    assert_int_equal(sn_access_redeem(access, code, true, header, &browser, &err), SONDE_E_DENIED);
}

static void a_code_is_good_for_one_cookie(void **state)
{
    (void)state;
    char cookie[128];
    char both[256];
    char gone[256];
    struct sn_access *access = open_access((struct sn_access_options){.prefix = "/sonde"});
    struct sn_visit visit = visit_of("GET");
    log_in(access, cookie);
    visit.cookie = cookie;
    assert_string_equal(who(access, &visit).kind, "session");
    (void)snprintf(both, sizeof(both), "a=b; %s; c=d", cookie);
    visit.cookie = both;
    assert_string_equal(who(access, &visit).kind, "session");
    sn_access_leave(access, who(access, &visit).session, gone);
    assert_non_null(strstr(gone, "Max-Age=0"));
    assert_non_null(strstr(gone, "Path=/sonde;"));
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_NONE);
    sn_access_free(access);
}

static void a_session_outlives_the_controller(void **state)
{
    (void)state;
    char cookie[128];
    char path[128];
    char text[4096] = "";
    struct sn_access *access = open_access((struct sn_access_options){0});
    struct sn_visit visit = visit_of("GET");
    log_in(access, cookie);
    sn_access_free(access);
    (void)snprintf(path, sizeof(path), "%s/sessions", folder);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    assert_null(strstr(text, strchr(cookie, '=') + 1)); /* only its hash is there */
    access = open_access((struct sn_access_options){0});
    visit.cookie = cookie;
    assert_string_equal(who(access, &visit).kind, "session");
    sn_access_free(access);
    for (size_t cut = 0; cut < size - 1; cut++) { /* a file that is damaged lets nobody in */
        assert_int_equal(truncate(path, (off_t)(size - 2 - cut)), 0);
        struct sn_session_table table = {0};
        sn_session_file_load(folder, &table);
        assert_true(sn_session_table_find(&table, strchr(cookie, '=') + 1,
                                          strlen(strchr(cookie, '=') + 1),
                                          sn_clock_monotonic_ns()) <= 1);
    }
}

static void a_cookie_counts_for_our_own_pages_only(void **state)
{
    (void)state;
    char cookie[128];
    static const struct {
        const char *method;
        const char *site;
        const char *origin;
        bool counts;
    } cases[] = {
        {"GET", NULL, NULL, true},
        {"GET", "same-origin", NULL, true},
        {"GET", "none", NULL, true},
        {"GET", "same-site", NULL, false}, /* another port of this machine */
        {"GET", "cross-site", NULL, false},
        {"POST", NULL, NULL, false},
        {"POST", "none", NULL, false},
        {"POST", "same-origin", NULL, true},
        {"POST", NULL, "http://localhost:52380", true},
        {"POST", NULL, "http://localhost:3000", false},
        {"POST", "same-origin", "http://localhost:52380", true},
        {"POST", "same-site", "http://localhost:52380", false},
        {"DELETE", NULL, "https://evil.example", false},
        {"DELETE", NULL, "null", false},
    };
    struct sn_access *access = open_access((struct sn_access_options){0});
    log_in(access, cookie);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sn_visit visit = visit_of(cases[i].method);
        visit.cookie = cookie;
        visit.fetch_site = cases[i].site;
        visit.origin = cases[i].origin;
        if ((who(access, &visit).scope != SN_SCOPE_NONE) != cases[i].counts)
            fail_msg("case %zu", i);
    }
    sn_access_free(access);
}

static void codes_and_sessions_end_and_are_few(void **state)
{
    (void)state;
    char code[SN_TOKEN_SIZE];
    char first[SN_TOKEN_SIZE];
    char cookie[SN_TOKEN_SIZE];
    struct sonde_error err = {0};
    struct sn_session_table table = {0};
    const struct sn_session_basis basis = {.key_id = ""};
    uint64_t now = 1;
    assert_int_equal(sn_session_table_code(&table, &basis, now, code, &err), SONDE_OK);
    assert_int_equal(
        sn_session_table_redeem(&table, code, now + SN_SESSION_CODE_LIFE_NS + 1, cookie, &err),
        SONDE_E_DENIED);
    for (size_t i = 0; i <= SN_SESSION_COUNT_MAX; i++) {
        struct sonde_error other = {0};
        assert_int_equal(sn_session_table_code(&table, &basis, now, code, &other), SONDE_OK);
        assert_int_equal(sn_session_table_redeem(&table, code, now++, i ? cookie : first, &other),
                         SONDE_OK);
    }
    assert_int_equal(sn_session_table_find(&table, first, strlen(first), now), 0);
    assert_int_not_equal(sn_session_table_find(&table, cookie, strlen(cookie), now), 0);
    uint64_t later = now;
    for (int i = 0; i < 4; i++) { /* in use, but for a day at most */
        later += SN_SESSION_IDLE_MAX_NS - 1;
        assert_int_equal(sn_session_table_find(&table, cookie, strlen(cookie), later) != 0, i < 3);
    }
}

static void a_session_that_nobody_uses_ends(void **state)
{
    (void)state;
    char cookie[SN_TOKEN_SIZE];
    struct sonde_error err = {0};
    struct sn_session_table table = {0};
    uint64_t used = 1 + SN_SESSION_IDLE_MAX_NS;
    assert_int_equal(sn_session_table_admit(&table, "", 1, cookie, &err), SONDE_OK);
    uint64_t id = sn_session_table_find(&table, cookie, strlen(cookie), used);
    assert_int_not_equal(id, 0); /* and is used thereby */
    assert_true(sn_session_table_has(&table, id, used + SN_SESSION_IDLE_MAX_NS));
    assert_false(sn_session_table_has(&table, id, used + SN_SESSION_IDLE_MAX_NS + 1));
    assert_int_equal(
        sn_session_table_find(&table, cookie, strlen(cookie), used + SN_SESSION_IDLE_MAX_NS + 1),
        0);
    assert_false(sn_session_table_has(&table, id, used)); /* it is gone for good */
}

static void a_session_stands_on_its_key(void **state)
{
    (void)state;
    char cookie[SN_TOKEN_SIZE];
    struct sonde_error err = {0};
    struct sn_session_table table = {0};
    assert_int_equal(sn_session_table_admit(&table, "0123456789abcdef", 1, cookie, &err), SONDE_OK);
    uint64_t id = sn_session_table_find(&table, cookie, strlen(cookie), 2);
    assert_string_equal(sn_session_table_key(&table, id), "0123456789abcdef");
    assert_string_equal(sn_session_table_key(&table, id + 1), "");
    assert_true(sn_session_table_end(&table, id));
    assert_string_equal(sn_session_table_key(&table, id), "");
}

static void a_key_throws_out_its_own_sessions_only(void **state)
{
    (void)state;
    char first[SN_TOKEN_SIZE];
    char mine[SN_TOKEN_SIZE];
    char cookie[SN_TOKEN_SIZE];
    struct sonde_error err = {0};
    struct sn_session_table table = {0};
    assert_int_equal(sn_session_table_admit(&table, "", 1, first, &err), SONDE_OK);
    assert_int_equal(sn_session_table_admit(&table, "a", 2, mine, &err), SONDE_OK);
    for (uint64_t i = 0; i < 2u * SN_SESSION_COUNT_MAX; i++)
        assert_int_equal(sn_session_table_admit(&table, "a", 3 + i, cookie, &err), SONDE_OK);
    assert_int_not_equal(sn_session_table_find(&table, first, strlen(first), 999), 0);
    assert_int_not_equal(sn_session_table_find(&table, cookie, strlen(cookie), 999), 0);
    assert_int_equal(sn_session_table_find(&table, mine, strlen(mine), 999), 0);
}

static void a_link_is_worth_its_maker(void **state)
{
    (void)state;
    char token[SN_TOKEN_SIZE];
    char code[48];
    char late[48];
    char header[256];
    char cookie[128];
    struct sonde_error err = {0};
    struct sn_key gone;
    struct sn_identity browser;
    struct sn_access *access = open_access((struct sn_access_options){0});
    struct sn_key key = {.scope = SN_SCOPE_SECRETS, .name = "ops"};
    assert_int_equal(sn_key_file_add(folder, &key, token, &err), SONDE_OK);
    struct sn_visit visit = visit_of("GET");
    (void)snprintf(header, sizeof(header), "Bearer %s", token);
    visit.authorization = header;
    struct sn_identity maker = who(access, &visit);
    assert_int_equal(sn_access_new_code(access, &maker, code, &err), SONDE_OK);
    assert_int_equal(sn_access_new_code(access, &maker, late, &err), SONDE_OK);
    assert_int_equal(sn_access_redeem(access, code, true, header, &browser, &err), SONDE_OK);
    assert_string_equal(browser.key_id, key.id);
    (void)snprintf(cookie, sizeof(cookie), "%.*s", (int)strcspn(header, ";"), header);
    visit = visit_of("GET");
    visit.cookie = cookie;
    assert_string_equal(who(access, &visit).name, "ops");
    assert_int_equal(sn_key_file_revoke(folder, "ops", &gone, &err), SONDE_OK);
    assert_int_equal(who(access, &visit).scope, SN_SCOPE_NONE);
    assert_false(sn_access_is_good(access, &browser));
    assert_int_equal(sn_access_redeem(access, late, true, header, &browser, &err), SONDE_E_DENIED);
    sn_access_free(access);
}

static void a_link_shares_the_life_of_its_makers_session(void **state)
{
    (void)state;
    char code[SN_TOKEN_SIZE];
    char cookie[SN_TOKEN_SIZE];
    struct sonde_error err = {0};
    struct sn_session_table table = {0};
    const uint64_t hour = 3600ull * SN_NS_PER_SECOND;
    const struct sn_session_basis basis = {.key_id = "", .age_ns = SN_SESSION_LIFE_MAX_NS - hour};
    assert_int_equal(sn_session_table_code(&table, &basis, 1, code, &err), SONDE_OK);
    assert_int_equal(sn_session_table_redeem(&table, code, 2, cookie, &err), SONDE_OK);
    assert_int_not_equal(sn_session_table_find(&table, cookie, strlen(cookie), hour), 0);
    assert_int_equal(sn_session_table_find(&table, cookie, strlen(cookie), hour + 2), 0);
}

static void what_was_idle_does_not_come_back(void **state)
{
    (void)state;
    char idle[SN_TOKEN_SIZE];
    char busy[SN_TOKEN_SIZE];
    struct sonde_error err = {0};
    struct sn_session_table before = {0};
    struct sn_session_table after = {0};
    uint64_t now = sn_clock_monotonic_ns();
    uint64_t then = now - SN_SESSION_IDLE_MAX_NS - 2 * SN_NS_PER_SECOND;
    assert_int_equal(sn_session_table_admit(&before, "", then, idle, &err), SONDE_OK);
    assert_int_equal(sn_session_table_admit(&before, "", then + SN_NS_PER_SECOND, busy, &err),
                     SONDE_OK);
    before.sessions[1].used_ns = now - SN_SESSION_IDLE_MAX_NS / 2;
    sn_session_file_save(folder, &before);
    sn_session_file_load(folder, &after);
    assert_int_equal(sn_session_table_find(&after, idle, strlen(idle), now), 0);
    assert_int_not_equal(sn_session_table_find(&after, busy, strlen(busy), now), 0);
    assert_int_equal(sn_session_table_find(&after, busy, strlen(busy), now), 1);
}

/* --- refused whoever asks --- */

static void a_foreign_host_is_refused_on_loopback_too(void **state)
{
    (void)state;
    static const char *const names[] = {"shop.example"};
    static const struct {
        const char *host;
        bool is_ours;
    } cases[] = {
        {"localhost", true},
        {"localhost:1", true},
        {"127.0.0.1:52380", true},
        {"127.8.8.8", true},
        {"[::1]:52380", true},
        {"shop.example", true},
        {"SHOP.example:8443", true},
        {NULL, false},
        {"", false},
        {"evil.example", false},
        {"localhost.evil", false},
        {"localhost:x", false},
        {"[::1", false},
        {"10.0.0.1", false},
        {"127.0.0.1.evil.example", false},
        {"localhost@evil.com", false},
        {":80", false},
    };
    const char *why = "";
    struct sonde_error err = {0};
    struct sn_access *access =
        open_access((struct sn_access_options){.host_names = names, .host_name_count = 1});
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sn_visit visit = visit_of("GET");
        visit.host = cases[i].host;
        if ((sn_access_judge(access, &visit, &why) == 0) != cases[i].is_ours)
            fail_msg("%s", cases[i].host ? cases[i].host : "no host");
    }
    struct sn_visit visit = visit_of("GET");
    visit.host = "10.0.0.1:52380";
    assert_int_equal(sn_access_judge(access, &visit, &why), 421);
    assert_int_equal(sn_access_allow_host(access, "[::]:52380", &err), SONDE_OK);
    assert_int_equal(sn_access_judge(access, &visit, &why), 0);
    visit.host = "evil.example";
    assert_int_equal(sn_access_judge(access, &visit, &why), 421);
    visit.is_local = true;
    assert_int_equal(sn_access_judge(access, &visit, &why), 0);
    sn_access_free(access);
}

static void a_foreign_origin_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"shop.example"};
    static const struct {
        const char *origin;
        bool is_ours;
    } cases[] = {
        {NULL, true},
        {"http://localhost:52380", true},
        {"https://localhost:52380", true},
        {"http://localhost", false},
        {"http://localhost:3000", false},
        {"http://127.0.0.1:52380", false}, /* not the Host that was asked */
        {"https://shop.example", true},
        {"https://shop.example.evil.com", false},
        {"https://evil.example", false},
        {"null", false},
        {"", false},
        {"file://", false},
        {"http://", false},
    };
    const char *why = "";
    struct sn_access *access =
        open_access((struct sn_access_options){.host_names = names, .host_name_count = 1});
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sn_visit visit = visit_of("POST");
        visit.origin = cases[i].origin;
        unsigned status = sn_access_judge(access, &visit, &why);
        if (status != (cases[i].is_ours ? 0 : 403))
            fail_msg("%s: %u", cases[i].origin, status);
    }
    sn_access_free(access);
}

static void a_key_in_the_address_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        bool is_fine;
    } cases[] = {
        {"", true},
        {"pid=1&durationSeconds=5", true},
        {"keyword=1", true},
        {"name=monkey", true},
        {"key=x", false},
        {"pid=1&access_token=x", false},
        {"Token=x", false},
        {"name=sonde_shop.nettrace", true},
        {"name=eyJack.nettrace", true},
        {"name=eyJ", true},
        {"name=sonde_0123456789012345678901234567890123456789-_", true},
        {"name=sonde_shop-of-the-third-floor-on-the-17th-of-the-month.nettrace", true},
        {"name=sonde_0123456789012345678901234567890123456789-_x&x=1", false},
        {"x=sonde_sonde_0123456789012345678901234567890123456789-_x", false},
        {"sonde_0123456789012345678901234567890123456789-_x", false},
        {"x=eyJhbGciOiJFUzI1NiJ9.e30.x", false},
        {"x=eyJhbGciOiJFUzI1NiJ9.e30.x&y=1", false},
    };
    const char *why = "";
    struct sn_access *access = open_access((struct sn_access_options){0});
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sn_visit visit = visit_of("GET");
        visit.query = cases[i].query;
        if (sn_access_judge(access, &visit, &why) != (cases[i].is_fine ? 0 : 400))
            fail_msg("%s", cases[i].query);
    }
    sn_access_free(access);
}

static void a_body_is_json_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        bool is_fine;
    } cases[] = {
        {"application/json", true},
        {"Application/JSON; charset=utf-8", true},
        {"text/json", true},
        {"application/merge-patch+json", true},
        {NULL, false},
        {"", false},
        {"text/plain", false},
        {"application/x-www-form-urlencoded", false},
        {"multipart/form-data; boundary=application/json", false},
        {"application/jsonx", false},
        {"json", false},
    };
    const char *why = "";
    struct sn_access *access = open_access((struct sn_access_options){0});
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sn_visit visit = visit_of("POST");
        visit.body_size = 2;
        visit.content_type = cases[i].type;
        if (sn_access_judge(access, &visit, &why) != (cases[i].is_fine ? 0 : 415))
            fail_msg("%s", cases[i].type);
        visit.body_size = 0;
        assert_int_equal(sn_access_judge(access, &visit, &why), 0);
    }
    sn_access_free(access);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_key_gives_its_scope_and_name),
        TEST(a_wrong_key_is_not_made_good_by_anything_else),
        TEST(tokens_count_only_when_their_key_is_configured),
        TEST(nobody_is_served_without_a_name_unless_said),
        TEST(a_socket_is_for_its_own_user_and_root),
        TEST(a_code_is_good_for_one_cookie),
        TEST(a_session_outlives_the_controller),
        TEST(a_cookie_counts_for_our_own_pages_only),
        TEST(codes_and_sessions_end_and_are_few),
        TEST(a_session_that_nobody_uses_ends),
        TEST(a_session_stands_on_its_key),
        TEST(a_key_throws_out_its_own_sessions_only),
        TEST(a_link_is_worth_its_maker),
        TEST(a_link_shares_the_life_of_its_makers_session),
        TEST(what_was_idle_does_not_come_back),
        TEST(a_foreign_host_is_refused_on_loopback_too),
        TEST(a_foreign_origin_is_refused),
        TEST(a_key_in_the_address_is_refused),
        TEST(a_body_is_json_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
