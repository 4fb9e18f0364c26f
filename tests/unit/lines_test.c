/* Addresses to source lines: maps and modules as the runtime tells them, PDBs from disk. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "flow/request.h"
#include "format/pdb.h"
#include "model/event.h"
#include "model/schema.h"
#include "symbol/lines.h"
#include "symbol/methods.h"
#include "symbol/pdb_file.h"

#define GOLDEN  SONDE_SOURCE_DIR "/tests/golden/pdb/"
#define RUNDOWN "Microsoft-Windows-DotNETRuntimeRundown"

#define MODULE_ID 0x7000u
#define METHOD_ID 0x8000u
#define START     0x10000u

struct room {
    struct sn_methods *methods;
    struct sn_lines *lines;
};

static void text16(struct sn_buf *to, const char *text)
{
    sn_text_to_utf16(to, text, strlen(text));
    sn_buf_u16(to, 0);
}

static struct sn_event event_of(struct sn_schema *schema, uint32_t id, struct sn_buf *payload)
{
    *schema = (struct sn_schema){.provider = RUNDOWN, .name = "", .event_id = id};
    return (struct sn_event){.schema = schema,
                             .pointer_size = 8,
                             .payload = payload->bytes,
                             .payload_size = (uint32_t)payload->size};
}

static void tell_module(struct room *room, const char *path, const char *pdb_path,
                        const uint8_t guid[16])
{
    SN_AUTO(sn_buf_done) struct sn_buf payload = sn_buf_with_limit(65536);
    struct sn_schema schema;
    sn_buf_u64(&payload, MODULE_ID);
    sn_buf_fill(&payload, 0, 16); /* assembly, flags, reserved */
    text16(&payload, path);
    text16(&payload, "");
    sn_buf_u16(&payload, 0);
    sn_buf_append(&payload, guid, 16);
    sn_buf_u32(&payload, 1);
    text16(&payload, pdb_path);
    struct sn_event event = event_of(&schema, 154, &payload);
    sn_methods_take(room->methods, &event);
}

static void tell_method(struct room *room, uint32_t row, uint64_t version)
{
    SN_AUTO(sn_buf_done) struct sn_buf payload = sn_buf_with_limit(65536);
    struct sn_schema schema;
    sn_buf_u64(&payload, METHOD_ID);
    sn_buf_u64(&payload, MODULE_ID);
    sn_buf_u64(&payload, START + version * 0x1000);
    sn_buf_u32(&payload, 0x1000);
    sn_buf_u32(&payload, 0x06000000u | row);
    sn_buf_u32(&payload, 0);
    text16(&payload, "Small.Program");
    text16(&payload, "Any");
    text16(&payload, "void ()");
    sn_buf_u16(&payload, 0);
    sn_buf_u64(&payload, version);
    struct sn_event event = event_of(&schema, 144, &payload);
    sn_methods_take(room->methods, &event);
}

struct pair {
    int32_t il;
    uint32_t native;
};

static struct sn_buf map_payload(uint64_t version, const struct pair *pairs, uint16_t count)
{
    struct sn_buf payload = sn_buf_with_limit(1u << 20);
    sn_buf_u64(&payload, METHOD_ID);
    sn_buf_u64(&payload, version);
    sn_buf_u8(&payload, 0);
    sn_buf_u16(&payload, count);
    for (uint16_t i = 0; i < count; i++)
        sn_buf_u32(&payload, (uint32_t)pairs[i].il);
    for (uint16_t i = 0; i < count; i++)
        sn_buf_u32(&payload, pairs[i].native);
    sn_buf_u16(&payload, 0);
    sn_buf_u64(&payload, 0);
    return payload;
}

static void tell_map(struct room *room, uint64_t version, const struct pair *pairs, uint16_t count)
{
    SN_AUTO(sn_buf_done) struct sn_buf payload = map_payload(version, pairs, count);
    struct sn_schema schema;
    struct sn_event event = event_of(&schema, 150, &payload);
    assert_true(sn_request_matches(&sn_lines_request, &schema));
    sn_lines_take(room->lines, &event);
}

static void guid_of(const char *pdb_path, uint8_t guid[16])
{
    SN_AUTO(sn_buf_done) struct sn_buf file = sn_buf_with_limit(1u << 20);
    struct sn_pdb pdb = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_file_read_at(AT_FDCWD, pdb_path, &file, &err), SONDE_OK);
    assert_int_equal(sn_pdb_open(file.bytes, file.size, &pdb, &err), SONDE_OK);
    memcpy(guid, pdb.guid, 16);
}

/* Of embedded.dll, as its headers have it behind "RSDS". */
static void guid_of_embedded(uint8_t guid[16])
{
    SN_AUTO(sn_buf_done) struct sn_buf file = sn_buf_with_limit(1u << 20);
    struct sonde_error err = {0};
    assert_int_equal(sn_file_read_at(AT_FDCWD, GOLDEN "embedded.dll", &file, &err), SONDE_OK);
    const uint8_t *found = memmem(file.bytes, file.size, "RSDS", 4);
    assert_non_null(found);
    memcpy(guid, found + 4, 16);
}

static struct room new_room(void)
{
    struct room room = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_methods_new(&room.methods, &err), SONDE_OK);
    assert_int_equal(sn_lines_new(room.methods, &room.lines, &err), SONDE_OK);
    return room;
}

static void room_done_auto(struct room *room)
{
    sn_lines_free(room->lines);
    sn_methods_free(room->methods);
}

/* The line of the code at `offset` in that version of the method; 0 for none. */
static uint32_t line_at(struct room *room, uint64_t version, uint32_t offset, const char **ret_file)
{
    uint64_t address = START + version * 0x1000 + offset;
    const struct sn_method *method = sn_methods_find(room->methods, address, 0);
    uint32_t line = 0;
    *ret_file = "";
    assert_non_null(method);
    return sn_lines_find(room->lines, method, address, ret_file, &line) ? line : 0;
}

static void assert_line(struct room *room, uint32_t offset, uint32_t line, const char *file)
{
    const char *found = NULL;
    assert_int_equal(line_at(room, 0, offset, &found), line);
    assert_string_equal(found, file);
}

/* Method 3 of the golden program, with entries out of order, a prolog, an epilog, and code that was
 * made of nothing. */
static const struct pair add_map[] = {{-2, 0},  {0, 8},   {31, 40}, {12, 20},
                                      {14, 24}, {-1, 30}, {43, 52}, {-3, 60}};

static void native_offsets_lead_to_lines(void **state)
{
    (void)state;
    SN_AUTO(room_done) struct room room = new_room();
    uint8_t guid[16];
    guid_of(GOLDEN "sidecar.pdb", guid);
    tell_module(&room, GOLDEN "sidecar.dll", "/src/obj/sidecar.pdb", guid);
    tell_method(&room, 3, 0);
    tell_map(&room, 0, add_map, 8);
    assert_line(&room, 0, 32, "/src/Small.cs");  /* prolog */
    assert_line(&room, 19, 32, "/src/Small.cs"); /* last byte of the call */
    assert_line(&room, 20, 33, "/src/Small.cs");
    assert_line(&room, 24, 36, "/src/Small.cs");
    assert_line(&room, 35, 36, "/src/Small.cs"); /* made of nothing */
    assert_line(&room, 40, 1000, "/src/generated/Made.cs");
    assert_line(&room, 52, 41, "/src/Small.cs");
    assert_line(&room, 0xFFF, 41, "/src/Small.cs"); /* epilog */
}

static void every_version_of_a_method_has_its_own_map(void **state)
{
    (void)state;
    static const struct pair early[] = {{0, 0}, {14, 100}};
    static const struct pair late[] = {{14, 0}, {0, 100}};
    SN_AUTO(room_done) struct room room = new_room();
    uint8_t guid[16];
    const char *file = NULL;
    guid_of(GOLDEN "sidecar.pdb", guid);
    tell_module(&room, GOLDEN "sidecar.dll", GOLDEN "sidecar.pdb", guid);
    for (uint64_t version = 0; version < 3; version++)
        tell_method(&room, 3, version);
    tell_map(&room, 0, early, 2);
    tell_map(&room, 1, late, 2);
    tell_map(&room, 0, late, 2); /* told again: the first stays */
    assert_int_equal(line_at(&room, 0, 0, &file), 32);
    assert_int_equal(line_at(&room, 0, 100, &file), 36);
    assert_int_equal(line_at(&room, 1, 0, &file), 36);
    assert_int_equal(line_at(&room, 1, 100, &file), 32);
    assert_int_equal(line_at(&room, 2, 0, &file), 0); /* no map, no line */
}

static void a_pdb_within_the_assembly_is_found(void **state)
{
    (void)state;
    SN_AUTO(room_done) struct room room = new_room();
    uint8_t guid[16];
    guid_of_embedded(guid);
    tell_module(&room, GOLDEN "embedded.dll", "/src/obj/embedded.pdb", guid);
    tell_method(&room, 3, 0);
    tell_map(&room, 0, add_map, 8);
    assert_line(&room, 40, 1000, "/src/generated/Made.cs");
}

static void what_starts_an_async_method_is_where_that_begins(void **state)
{
    (void)state;
    static const struct pair pairs[] = {{0, 0}};
    SN_AUTO(room_done) struct room room = new_room();
    uint8_t guid[16];
    guid_of(GOLDEN "sidecar.pdb", guid);
    tell_module(&room, GOLDEN "sidecar.dll", "", guid);
    tell_method(&room, 1, 0);
    tell_map(&room, 0, pairs, 1);
    assert_line(&room, 10, 15, "/src/Small.cs");
}

static void a_pdb_of_another_build_is_not_used(void **state)
{
    (void)state;
    static const char *const paths[] = {GOLDEN "sidecar.dll", GOLDEN "embedded.dll"};
    for (size_t i = 0; i < 2; i++) {
        SN_AUTO(room_done) struct room room = new_room();
        uint8_t guid[16];
        guid_of(GOLDEN "sidecar.pdb", guid);
        guid[15] ^= 1;
        tell_module(&room, paths[i], GOLDEN "sidecar.pdb", guid);
        tell_method(&room, 3, 0);
        tell_map(&room, 0, add_map, 8);
        assert_line(&room, 40, 0, "");
    }
}

/* Whatever a trace calls a PDB: pipes, devices, folders, names of nothing. None is waited for. */
static void odd_paths_are_passed_over(void **state)
{
    (void)state;
    char folder[] = "/tmp/sonde-lines-XXXXXX";
    char pipe[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(pipe, sizeof(pipe), "%s/pipe.pdb", folder);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const char *const paths[] = {pipe, folder,         "/dev/zero", "sidecar.pdb",
                                 "",   "C:\\x\\y.pdb", "/",         "/proc/self/mem"};
    uint8_t guid[16];
    guid_of(GOLDEN "sidecar.pdb", guid);
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        SN_AUTO(room_done) struct room room = new_room();
        tell_module(&room, paths[i], paths[i], guid);
        tell_method(&room, 3, 0);
        tell_map(&room, 0, add_map, 8);
        assert_line(&room, 40, 0, "");
    }
    assert_int_equal(unlink(pipe), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void every_cut_of_a_map_is_passed_over(void **state)
{
    (void)state;
    SN_AUTO(room_done) struct room room = new_room();
    SN_AUTO(sn_buf_done) struct sn_buf payload = map_payload(0, add_map, 8);
    struct sn_schema schema;
    uint8_t guid[16];
    guid_of(GOLDEN "sidecar.pdb", guid);
    tell_module(&room, GOLDEN "sidecar.dll", "", guid);
    tell_method(&room, 3, 0);
    for (size_t cut = 0; cut < 19 + 8 * 8; cut++) {
        SN_AUTO(sn_free) uint8_t *copy = malloc(cut ? cut : 1);
        assert_non_null(copy);
        memcpy(copy, payload.bytes, cut);
        struct sn_event event = event_of(&schema, 150, &payload);
        event.payload = copy;
        event.payload_size = (uint32_t)cut;
        sn_lines_take(room.lines, &event);
    }
    assert_line(&room, 40, 0, "");
    struct sn_event event = event_of(&schema, 150, &payload);
    sn_lines_take(room.lines, &event);
    assert_line(&room, 40, 1000, "/src/generated/Made.cs");
}

static void hostile_maps_and_tokens_give_no_line(void **state)
{
    (void)state;
    static const struct pair odd[] = {{INT32_MIN, 0},  {INT32_MAX, 5}, {-100, UINT32_MAX},
                                      {INT32_MAX, 50}, {7, 0},         {INT32_MIN, UINT32_MAX}};
    SN_AUTO(room_done) struct room room = new_room();
    uint8_t guid[16];
    const char *file = NULL;
    guid_of(GOLDEN "sidecar.pdb", guid);
    tell_module(&room, GOLDEN "sidecar.dll", "", guid);
    tell_method(&room, 0xFFFFFF, 0);
    tell_method(&room, 3, 1);
    tell_map(&room, 0, odd, 6);
    tell_map(&room, 1, odd, 6);
    assert_int_equal(line_at(&room, 0, 4, &file), 0);
    assert_int_equal(line_at(&room, 1, 4, &file), 32);
    assert_int_equal(line_at(&room, 1, 60, &file), 42); /* beyond the end: the last line */
    struct sn_method made_up = {.method_id = METHOD_ID, .module_id = MODULE_ID, .start = START};
    uint32_t line = 0;
    assert_false(sn_lines_find(room.lines, &made_up, START, &file, &line));
    made_up = (struct sn_method){
        .method_id = METHOD_ID, .version_id = 1, .module_id = 99, .token = 0x06000003};
    assert_false(sn_lines_find(room.lines, &made_up, 0, &file, &line)); /* no such module */
}

/* What the lines of a map must be, found the slow way: of the entries at or before an offset the
 * last one, in the order of offsets and then of the map. */
static uint32_t line_by_search(const struct sn_pdb *pdb, const struct pair *pairs, size_t count,
                               uint32_t native)
{
    struct pair best = {0, 0};
    struct sn_pdb_point point = {0};
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].il >= -2 && pairs[i].il != -1 && pairs[i].native <= native &&
            pairs[i].native >= best.native)
            best = (struct pair){pairs[i].il < 0 ? 0 : pairs[i].il, pairs[i].native};
    }
    return sn_pdb_find(pdb, 3, (uint32_t)best.il, &point) ? point.line : 0;
}

static void any_map_gives_the_lines_of_a_search(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = sn_buf_with_limit(1u << 20);
    struct sn_pdb pdb = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_file_read_at(AT_FDCWD, GOLDEN "sidecar.pdb", &file, &err), SONDE_OK);
    assert_int_equal(sn_pdb_open(file.bytes, file.size, &pdb, &err), SONDE_OK);
    unsigned seed = 11;
    for (int round = 0; round < 300; round++) {
        SN_AUTO(room_done) struct room room = new_room();
        struct pair pairs[24];
        uint16_t count = (uint16_t)(1 + rand_r(&seed) % 24);
        for (uint16_t i = 0; i < count; i++)
            pairs[i] = (struct pair){rand_r(&seed) % 64 - 3, (uint32_t)rand_r(&seed) % 40};
        tell_module(&room, GOLDEN "sidecar.dll", "", pdb.guid);
        tell_method(&room, 3, 0);
        tell_map(&room, 0, pairs, count);
        for (uint32_t native = 0; native < 44; native++) {
            const char *found = NULL;
            assert_int_equal(line_at(&room, 0, native, &found),
                             line_by_search(&pdb, pairs, count, native));
        }
    }
}

/* As many entries as a map can have, and very many addresses: minutes, and not a part of a second,
 * if each question went over the map. */
static void the_largest_map_is_gone_over_once(void **state)
{
    (void)state;
    enum { COUNT = UINT16_MAX, QUESTIONS = 1 << 18 };
    SN_AUTO(room_done) struct room room = new_room();
    SN_AUTO(sn_free) struct pair *pairs = calloc(COUNT, sizeof(*pairs));
    assert_non_null(pairs);
    for (uint32_t i = 0; i < COUNT; i++)
        pairs[i] = (struct pair){(int32_t)(COUNT - i), COUNT - i}; /* falling */
    uint8_t guid[16];
    guid_of(GOLDEN "sidecar.pdb", guid);
    tell_module(&room, GOLDEN "sidecar.dll", "", guid);
    tell_map(&room, 0, pairs, COUNT);
    struct sn_method method = {
        .method_id = METHOD_ID, .module_id = MODULE_ID, .start = START, .token = 0x06000003};
    for (uint32_t i = 0; i < QUESTIONS; i++) {
        const char *file = NULL;
        uint32_t line = 0;
        assert_true(sn_lines_find(room.lines, &method, START + i, &file, &line));
        if (i < 12 || i > 100)
            assert_int_equal(line, i < 12 ? 32 : 42);
    }
}

/* A trace may name one large file for thousands of modules: what it costs to look at it in vain is
 * counted. */
static void what_is_read_in_vain_is_counted(void **state)
{
    (void)state;
    struct stat status = {0};
    assert_int_equal(stat(GOLDEN "sidecar.pdb", &status), 0);
    const size_t size = (size_t)status.st_size;
    struct sn_module module = {.path = GOLDEN "none.dll", .pdb_path = GOLDEN "sidecar.pdb"};
    guid_of(GOLDEN "sidecar.pdb", module.pdb_guid);
    struct sn_pdb_file file = {0};
    size_t budget = 2 * size + size / 2;
    assert_true(sn_pdb_file_open(&module, &budget, &file));
    sn_pdb_file_close(&file);
    assert_int_equal(budget, size + size / 2);
    module.pdb_guid[15] ^= 1;
    assert_false(sn_pdb_file_open(&module, &budget, &file));
    assert_int_equal(budget, size / 2);
    module.pdb_guid[15] ^= 1;
    assert_false(
        sn_pdb_file_open(&module, &budget, &file)); /* fits, but there is no more to read */
    assert_int_equal(budget, size / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_offsets_lead_to_lines),
        cmocka_unit_test(every_version_of_a_method_has_its_own_map),
        cmocka_unit_test(a_pdb_within_the_assembly_is_found),
        cmocka_unit_test(what_starts_an_async_method_is_where_that_begins),
        cmocka_unit_test(a_pdb_of_another_build_is_not_used),
        cmocka_unit_test(odd_paths_are_passed_over),
        cmocka_unit_test(every_cut_of_a_map_is_passed_over),
        cmocka_unit_test(hostile_maps_and_tokens_give_no_line),
        cmocka_unit_test(any_map_gives_the_lines_of_a_search),
        cmocka_unit_test(the_largest_map_is_gone_over_once),
        cmocka_unit_test(what_is_read_in_vain_is_counted),
    };
    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
