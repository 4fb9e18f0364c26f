/* JSON piece by piece: what comes in which order, what is refused, and that no cut leads anywhere.
 */
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "check.h"

/* All pieces in one line: {[ ] for what opens and closes, name= for names, 'text', plain. */
static bool spell(const char *json, size_t size, char *to, size_t room)
{
    static const char *const marks[] = {"{", "[", "]", "%s=", "'%s'", "%s"};
    struct sn_json_reader reader = sn_json_reader_of(json, size);
    size_t used = 0;
    to[0] = '\0';
    while (sn_json_read_next(&reader)) {
        char piece[SN_JSON_READ_TEXT + 4];
        const char *mark = marks[reader.kind];
        const char *at = strstr(mark, "%s");
        int before = at ? (int)(at - mark) : (int)strlen(mark);
        (void)snprintf(piece, sizeof(piece), "%.*s%s%s", before, mark, at ? reader.text : "",
                       at ? at + 2 : "");
        used += (size_t)snprintf(to + used, used < room ? room - used : 0, "%s ", piece);
        assert_true(used < room);
    }
    return !reader.is_bad && reader.is_done;
}

static void check(const char *json, const char *expected)
{
    char spelled[1024];
    assert_true(spell(json, strlen(json), spelled, sizeof(spelled)));
    assert_string_equal(spelled, expected);
}

static void pieces_come_in_order(void **state)
{
    (void)state;
    check("{}", "{ ] ");
    check(" [ ] ", "[ ] ");
    check("7", "7 ");
    check("{\"a\":1,\"b\":[2,[\"x\",-3.5e+1]],\"c\":{\"d\":null}}",
          "{ a= 1 b= [ 2 [ 'x' -3.5e+1 ] ] c= { d= null ] ] ");
    check("{\"a\\\"b\":\"\\\\\"}", "{ a\"b= '\\' ] ");
}

static void what_is_no_json_is_refused(void **state)
{
    static const char *const bad[] = {"",        "{",       "[1,]",      "[,1]",  "{1:2}",
                                      "{\"a\"}", "{\"a\":", "{\"a\" 1}", "[1 2]", "\"never ends",
                                      "]",       "[}",      "{\"a\":1,}"};
    char spelled[256];
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(spell(bad[i], strlen(bad[i]), spelled, sizeof(spelled)));
}

static void nesting_has_an_end(void **state)
{
    char deep[2 * SN_JSON_READ_DEPTH + 3] = "";
    char spelled[256];
    (void)state;
    memset(deep, '[', SN_JSON_READ_DEPTH);
    memset(deep + SN_JSON_READ_DEPTH, ']', SN_JSON_READ_DEPTH);
    assert_true(spell(deep, 2 * (size_t)SN_JSON_READ_DEPTH, spelled, sizeof(spelled)));
    memset(deep, '[', SN_JSON_READ_DEPTH + 1);
    assert_false(spell(deep, SN_JSON_READ_DEPTH + 1, spelled, sizeof(spelled)));
}

static void a_long_text_is_cut(void **state)
{
    char json[SN_JSON_READ_TEXT * 2];
    (void)state;
    memset(json, 'x', sizeof(json));
    json[0] = json[sizeof(json) - 1] = '"';
    struct sn_json_reader reader = sn_json_reader_of(json, sizeof(json));
    assert_true(sn_json_read_next(&reader));
    assert_int_equal(strlen(reader.text), SN_JSON_READ_TEXT - 1);
    assert_false(sn_json_read_next(&reader));
    assert_false(reader.is_bad);
}

static void every_cut_is_refused(void **state)
{
    static const char json[] =
        "{\"types\":{\"Thread\":{\"Id\":[16,\"u\"],\"!\":8}},\"globals\":{\"A\":[[3],\"p\"]}}";
    char spelled[512];
    (void)state;
    for (size_t size = 0; size < sizeof(json) - 1; size++)
        assert_false(spell(json, size, spelled, sizeof(spelled)));
    assert_true(spell(json, sizeof(json) - 1, spelled, sizeof(spelled)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_come_in_order), cmocka_unit_test(what_is_no_json_is_refused),
        cmocka_unit_test(nesting_has_an_end),   cmocka_unit_test(a_long_text_is_cut),
        cmocka_unit_test(every_cut_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
