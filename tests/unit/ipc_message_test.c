/* Requests to the last bit, refusal of those that kill runtimes, and replies cut anywhere. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "source/ipc/message.h"
#include "source/ipc/reply.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const uint32_t event_ids[] = {80, 256};

static const struct sn_ipc_provider two_providers[] = {
    {.name = "Rt", .keywords = 0x8000, .level = 2},
    {.name = "Gr\xC3\xBCn",
     .arguments = "a=1;b=\"\xF0\x9F\x90\xA7\"",
     .keywords = UINT64_MAX,
     .level = 5},
};

static const struct sn_ipc_provider filtered_providers[] = {
    {.name = "Rt", .keywords = 0x8000, .level = 2},
    {.name = "Gr\xC3\xBCn",
     .arguments = "a=1;b=\"\xF0\x9F\x90\xA7\"",
     .keywords = UINT64_MAX,
     .level = 5,
     .event_ids = event_ids,
     .event_id_count = 2,
     .only_listed = true},
};

#define COLLECT(rundown, with_stacks, list)                                                  \
    {                                                                                        \
        .buffer_mb = 16, .format = 1, .rundown_keyword = (rundown), .stacks = (with_stacks), \
        .providers = (list), .provider_count = COUNT(list),                                  \
    }
#define CLSID                                                     \
    {                                                             \
        {                                                         \
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 \
        }                                                         \
    }
#define TWO_PROVIDERS                                                                 \
    "02000000008000000000000002000000030000005200740000000000" /* Rt, no arguments */ \
    "0000ffffffffffffffff050000000500000047007200fc006e000000"                        \
    "0b00000061003d0031003b0062003d0022003dd827dc22000000"

/* Written by another program from the layouts alone; payloads in hexadecimal. */
static const struct golden {
    struct sn_ipc_request request;
    const char *payload;
} goldens[] = {
    {{.command = SN_IPC_PROCESS_INFO}, ""},
    {{.command = SN_IPC_PROCESS_INFO2}, ""},
    {{.command = SN_IPC_PROCESS_INFO3}, ""},
    {{.command = SN_IPC_RESUME_RUNTIME}, ""},
    {{.command = SN_IPC_PROCESS_ENVIRONMENT}, ""},
    {{.command = SN_IPC_DISABLE_PERF_MAP}, ""},
    {{.command = SN_IPC_STOP_TRACING, .session_id = 0x1122334455667788}, "8877665544332211"},
    {{.command = SN_IPC_ENABLE_PERF_MAP, .perf_map = SN_IPC_PERF_MAP}, "03000000"},
    {{.command = SN_IPC_SET_VARIABLE, .variable = {"N", "v\xC3\xA4"}},
     "020000004e000000030000007600e4000000"},
    {{.command = SN_IPC_SET_VARIABLE, .variable = {"N", ""}}, "020000004e000000010000000000"},
    {{.command = SN_IPC_APPLY_STARTUP_HOOK, .hook_path = "/h.dll"},
     "070000002f0068002e0064006c006c000000"},
    {{.command = SN_IPC_DUMP, .dump = {"/d/c", SN_IPC_DUMP_TRIAGE, 1}},
     "050000002f0064002f00630000000300000001000000"},
    {{.command = SN_IPC_DUMP2, .dump = {"/d/c", SN_IPC_DUMP_FULL, 7}},
     "050000002f0064002f00630000000400000007000000"},
    {{.command = SN_IPC_DUMP3, .dump = {"/d/c", SN_IPC_DUMP_MINI, 0}},
     "050000002f0064002f00630000000100000000000000"},
    {{.command = SN_IPC_ATTACH_PROFILER,
      .profiler = {.clsid = CLSID,
                   .path = "/p.so",
                   .timeout_ms = 5000,
                   .client_data = "abc",
                   .client_data_size = 3}},
     "881300000102030405060708090a0b0c0d0e0f10060000002f0070002e0073006f00000003000000616263"},
    {{.command = SN_IPC_STARTUP_PROFILER, .profiler = {.clsid = CLSID, .path = "/p.so"}},
     "0102030405060708090a0b0c0d0e0f10060000002f0070002e0073006f000000"},
    {{.command = SN_IPC_COLLECT_TRACING,
      .collect = COLLECT(SN_IPC_DEFAULT_RUNDOWN, true, two_providers)},
     "1000000001000000" TWO_PROVIDERS},
    {{.command = SN_IPC_COLLECT_TRACING2, .collect = COLLECT(0, true, two_providers)},
     "100000000100000000" TWO_PROVIDERS},
    {{.command = SN_IPC_COLLECT_TRACING3,
      .collect = COLLECT(SN_IPC_DEFAULT_RUNDOWN, false, two_providers)},
     "10000000010000000100" TWO_PROVIDERS},
    {{.command = SN_IPC_COLLECT_TRACING4, .collect = COLLECT(0x38, false, two_providers)},
     "1000000001000000380000000000000000" TWO_PROVIDERS},
    {{.command = SN_IPC_COLLECT_TRACING5, .collect = COLLECT(0x38, true, filtered_providers)},
     "000000001000000001000000380000000000000001"
     "0200000000800000000000000200000003000000520074000000000000000000000000"
     "ffffffffffffffff050000000500000047007200fc006e0000000b00000061003d0031003b0062003d0022003d"
     "d827dc22000000"
     "01020000005000000000010000"},
};

static void put_hex(struct sn_buf *buf, const char *hex)
{
    for (; *hex; hex += 2) {
        char pair[3] = {hex[0], hex[1], 0};
        sn_buf_u8(buf, (uint8_t)strtoul(pair, NULL, 16));
    }
}

static struct sn_buf framed(unsigned command, const void *payload, size_t size)
{
    struct sn_buf message = sn_buf_with_limit(1u << 20);
    sn_buf_append(&message, "DOTNET_IPC_V1", 14);
    sn_buf_u16(&message, (uint16_t)(20 + size));
    sn_buf_u8(&message, (uint8_t)(command >> 8));
    sn_buf_u8(&message, (uint8_t)command);
    sn_buf_u16(&message, 0);
    sn_buf_append(&message, payload, size);
    return message;
}

static struct sn_buf golden_message(const struct golden *golden)
{
    struct sn_buf payload = sn_buf_with_limit(1u << 16);
    put_hex(&payload, golden->payload);
    struct sn_buf message = framed(golden->request.command, payload.bytes, payload.size);
    sn_buf_done(&payload);
    return message;
}

static int decode(const void *bytes, size_t size)
{
    struct sn_arena arena = sn_arena_with_limit(SN_IPC_REQUEST_MEMORY);
    struct sn_ipc_request request;
    struct sonde_error err = {0};
    /* Its own allocation, so that a read past the end is seen. */
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size)
        memcpy(copy, bytes, size);
    int rc = sn_ipc_decode_request(copy, size, &arena, &request, &err);
    free(copy);
    sn_arena_done(&arena);
    assert_int_equal(rc, err.status);
    assert_true(rc == SONDE_OK || err.text[0]);
    return rc;
}

static bool is_refused(unsigned command, const char *payload_hex)
{
    struct sn_buf payload = sn_buf_with_limit(1u << 16);
    put_hex(&payload, payload_hex);
    struct sn_buf message = framed(command, payload.bytes, payload.size);
    int rc = decode(message.bytes, message.size);
    sn_buf_done(&payload);
    sn_buf_done(&message);
    return rc < 0;
}

static void every_command_has_its_exact_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(goldens); i++) {
        struct sn_buf expected = golden_message(&goldens[i]);
        struct sn_buf message = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE);
        struct sonde_error err = {0};
        assert_int_equal(sn_ipc_encode(&goldens[i].request, &message, &err), SONDE_OK);
        assert_int_equal(message.size, expected.size);
        assert_memory_equal(message.bytes, expected.bytes, expected.size);
        sn_buf_done(&message);
        sn_buf_done(&expected);
    }
}

static void what_is_decoded_encodes_to_the_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(goldens); i++) {
        struct sn_buf expected = golden_message(&goldens[i]);
        struct sn_buf again = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE);
        struct sn_arena arena = sn_arena_with_limit(SN_IPC_REQUEST_MEMORY);
        struct sn_ipc_request request;
        struct sonde_error err = {0};
        assert_int_equal(
            sn_ipc_decode_request(expected.bytes, expected.size, &arena, &request, &err), SONDE_OK);
        assert_int_equal(sn_ipc_encode(&request, &again, &err), SONDE_OK);
        assert_int_equal(again.size, expected.size);
        assert_memory_equal(again.bytes, expected.bytes, expected.size);
        sn_arena_done(&arena);
        sn_buf_done(&again);
        sn_buf_done(&expected);
    }
}

/* Both kinds: cut in transit, and well-framed with too little in it, which is what kills. */
static void every_cut_of_every_request_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(goldens); i++) {
        struct sn_buf message = golden_message(&goldens[i]);
        for (size_t size = 0; size < message.size; size++) {
            assert_true(decode(message.bytes, size) < 0);
            if (size < 20)
                continue;
            struct sn_buf cut = framed(goldens[i].request.command, message.bytes + 20, size - 20);
            assert_true(decode(cut.bytes, cut.size) < 0);
            sn_buf_done(&cut);
        }
        sn_buf_done(&message);
    }
}

static void whatever_follows_a_request_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(goldens); i++) {
        struct sn_buf message = golden_message(&goldens[i]);
        sn_buf_fill(&message, 0, 4);
        for (size_t more = 1; more <= 4; more++) {
            size_t size = message.size - 4 + more;
            assert_true(decode(message.bytes, size) < 0);
            struct sn_buf longer =
                framed(goldens[i].request.command, message.bytes + 20, size - 20);
            assert_true(decode(longer.bytes, longer.size) < 0);
            sn_buf_done(&longer);
        }
        sn_buf_done(&message);
    }
}

/* Measured: each of these ended a .NET 10 process with SIGSEGV, three times out of three. */
static void the_shapes_that_kill_a_runtime_are_refused(void **state)
{
    (void)state;
    assert_true(is_refused(SN_IPC_COLLECT_TRACING, ""));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING2, ""));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING3, ""));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING4, ""));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING5, ""));
    assert_true(is_refused(SN_IPC_ATTACH_PROFILER, ""));
    assert_true(is_refused(SN_IPC_STARTUP_PROFILER, ""));
    assert_true(is_refused(SN_IPC_SET_VARIABLE, ""));
    assert_true(is_refused(SN_IPC_SET_VARIABLE, "02"));
    assert_true(is_refused(SN_IPC_SET_VARIABLE, "020000"));
    assert_true(is_refused(SN_IPC_ENABLE_PERF_MAP, ""));
    assert_true(is_refused(SN_IPC_APPLY_STARTUP_HOOK, ""));
    assert_true(is_refused(SN_IPC_APPLY_STARTUP_HOOK, "02"));
    assert_true(is_refused(SN_IPC_APPLY_STARTUP_HOOK, "020000"));
    /* Seen to kill in company of others. */
    assert_true(is_refused(SN_IPC_ATTACH_PROFILER, "881300000102030405"));
    assert_true(is_refused(SN_IPC_ATTACH_PROFILER, "881300000102030405060708090a0b0c0d0e0f10"));
    assert_true(is_refused(SN_IPC_STARTUP_PROFILER, "0102030405"));
}

static void malformed_strings_are_refused(void **state)
{
    (void)state;
    assert_true(is_refused(SN_IPC_APPLY_STARTUP_HOOK, "00000000"));         /* null */
    assert_true(is_refused(SN_IPC_APPLY_STARTUP_HOOK, "010000000000"));     /* empty */
    assert_true(is_refused(SN_IPC_APPLY_STARTUP_HOOK, "020000002f002f00")); /* no terminator */
    assert_true(is_refused(SN_IPC_APPLY_STARTUP_HOOK, "ffffffff2f000000")); /* count too large */
    assert_true(is_refused(SN_IPC_APPLY_STARTUP_HOOK, "000000802f000000"));
    assert_true(is_refused(SN_IPC_APPLY_STARTUP_HOOK, "030000002f0000000000")); /* zero inside */
    assert_true(is_refused(SN_IPC_APPLY_STARTUP_HOOK, "030000002f0000d80000")); /* lone surrogate */
    assert_true(is_refused(SN_IPC_APPLY_STARTUP_HOOK, "020000006800"
                                                      "0000"));                   /* relative */
    assert_true(is_refused(SN_IPC_SET_VARIABLE, "020000004e00000000000000"));     /* null value */
    assert_true(is_refused(SN_IPC_SET_VARIABLE, "020000003d000000010000000000")); /* name "=" */
}

static void counts_that_do_not_match_are_refused(void **state)
{
#define PROVIDER       \
    "0080000000000000" \
    "02000000"         \
    "030000005200"     \
    "74000000"         \
    "00000000"
    (void)state;
    assert_false(is_refused(SN_IPC_COLLECT_TRACING2, "100000000100000000"
                                                     "01000000" PROVIDER));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING2, "100000000100000000"
                                                    "00000000"));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING2, "100000000100000000"
                                                    "02000000" PROVIDER));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING2, "100000000100000000"
                                                    "ffffffff" PROVIDER));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING2, "100000000100000000"
                                                    "01000000" PROVIDER PROVIDER));
    assert_true(/* the same twice */
                is_refused(SN_IPC_COLLECT_TRACING2, "100000000100000000"
                                                    "02000000" PROVIDER PROVIDER));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING2, "100000000100000002"
                                                    "01000000" PROVIDER));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING2, "000000000100000000"
                                                    "01000000" PROVIDER));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING2, "100000000200000000"
                                                    "01000000" PROVIDER));
#define FIVE                                     \
    "000000001000000001000000380000000000000001" \
    "01000000"
    assert_false(is_refused(SN_IPC_COLLECT_TRACING5, FIVE PROVIDER "00"
                                                                   "00000000"));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING5, FIVE PROVIDER "00"
                                                                  "ffffffff"));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING5, FIVE PROVIDER "00"
                                                                  "02000000"
                                                                  "50000000"));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING5, FIVE PROVIDER "02"
                                                                  "00000000"));
    assert_true(is_refused(SN_IPC_COLLECT_TRACING5, FIVE PROVIDER "01"
                                                                  "00000000"));
    /* user_events: the server would wait for a descriptor */
    assert_true(is_refused(SN_IPC_COLLECT_TRACING5, "010000003800000000000000"
                                                    "01000000" PROVIDER "00"
                                                    "00000000"));
#define ATTACH "881300000102030405060708090a0b0c0d0e0f10060000002f0070002e0073006f000000"
    assert_false(is_refused(SN_IPC_ATTACH_PROFILER, ATTACH "00000000"));
    assert_true(is_refused(SN_IPC_ATTACH_PROFILER, ATTACH "00000000"
                                                          "61"));
    assert_true(is_refused(SN_IPC_ATTACH_PROFILER, ATTACH "04000000"
                                                          "616263"));
    assert_true(is_refused(SN_IPC_ATTACH_PROFILER, ATTACH "ffffffff"
                                                          "616263"));
}

static void other_headers_are_refused(void **state)
{
    (void)state;
    assert_true(is_refused(0x0000, ""));
    assert_true(is_refused(0x0207, "")); /* CollectTracing6: may stop the target's threads */
    assert_true(is_refused(0x0409, ""));
    assert_true(is_refused(0xFF00, ""));
    for (size_t i = 0; i < 20; i++) {
        struct sn_buf message = framed(SN_IPC_PROCESS_INFO, NULL, 0);
        message.bytes[i] ^= 0x40;
        assert_true(decode(message.bytes, message.size) < 0);
        sn_buf_done(&message);
    }
}

static void expect_bad(const struct sn_ipc_request *request, const char *words)
{
    struct sn_buf message = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE);
    struct sonde_error err = {0};
    assert_int_equal(sn_ipc_encode(request, &message, &err), SONDE_E_ARGUMENT);
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
    assert_int_equal(message.size, 0);
    sn_buf_done(&message);
}

static void expect_bad_collect(enum sn_ipc_command command, struct sn_ipc_collect collect,
                               const char *words)
{
    struct sn_ipc_request request = {.command = command, .collect = collect};
    expect_bad(&request, words);
}

static void expect_bad_provider(struct sn_ipc_provider provider, const char *words)
{
    struct sn_ipc_provider list[] = {provider};
    expect_bad_collect(SN_IPC_COLLECT_TRACING5, (struct sn_ipc_collect)COLLECT(0, true, list),
                       words);
}

static void a_bad_session_is_refused_with_words(void **state)
{
    static const struct sn_ipc_provider twice[] = {{.name = "One"}, {.name = "oNE"}};
    struct sn_ipc_collect good = COLLECT(0, true, two_providers);
    struct sn_ipc_collect bad = good;
    (void)state;
    bad.buffer_mb = 0;
    expect_bad_collect(SN_IPC_COLLECT_TRACING2, bad, "a buffer of 0 MB");
    bad = good;
    bad.provider_count = 0;
    expect_bad_collect(SN_IPC_COLLECT_TRACING2, bad, "0 providers, not 1 to 1000");
    bad.provider_count = 1001;
    expect_bad_collect(SN_IPC_COLLECT_TRACING2, bad, "1001 providers");
    bad = good;
    bad.format = 2;
    expect_bad_collect(SN_IPC_COLLECT_TRACING2, bad, "format 2");
    bad = good;
    bad.stacks = false;
    expect_bad_collect(SN_IPC_COLLECT_TRACING2, bad, "cannot leave out the stacks");
    expect_bad_collect(SN_IPC_COLLECT_TRACING, good, "cannot leave out the rundown");
    bad = good;
    bad.rundown_keyword = 0x38;
    expect_bad_collect(SN_IPC_COLLECT_TRACING3, bad, "cannot carry rundown keyword 0x38");
    expect_bad_collect(SN_IPC_COLLECT_TRACING4,
                       (struct sn_ipc_collect)COLLECT(0, true, filtered_providers),
                       "which CollectTracing4 cannot carry");
    expect_bad_collect(SN_IPC_COLLECT_TRACING4, (struct sn_ipc_collect)COLLECT(0, true, twice),
                       "asked for twice");
    expect_bad_provider((struct sn_ipc_provider){.name = NULL}, "name is empty");
    expect_bad_provider((struct sn_ipc_provider){.name = ""}, "name is empty");
    expect_bad_provider((struct sn_ipc_provider){.name = "a\xFF"}, "not valid UTF-8 at byte 1");
    expect_bad_provider((struct sn_ipc_provider){.name = "a", .level = 6}, "level 6, not 0 to 5");
    expect_bad_provider((struct sn_ipc_provider){.name = "a", .arguments = "\xC3"},
                        "not valid UTF-8");
    expect_bad_provider((struct sn_ipc_provider){.name = "a", .only_listed = true},
                        "lets no event through");
}

static void other_bad_requests_are_refused_with_words(void **state)
{
    static const struct {
        struct sn_ipc_request request;
        const char *words;
    } bad[] = {
        {{.command = (enum sn_ipc_command)0x0999}, "not known"},
        {{.command = SN_IPC_ENABLE_PERF_MAP, .perf_map = 0}, "perf map type 0"},
        {{.command = SN_IPC_ENABLE_PERF_MAP, .perf_map = 4}, "perf map type 4"},
        {{.command = SN_IPC_APPLY_STARTUP_HOOK, .hook_path = NULL}, "hook path is empty"},
        {{.command = SN_IPC_APPLY_STARTUP_HOOK, .hook_path = ""}, "hook path is empty"},
        {{.command = SN_IPC_APPLY_STARTUP_HOOK, .hook_path = "a.dll"}, "not absolute"},
        {{.command = SN_IPC_DUMP3, .dump = {"core", 1, 0}}, "not absolute"},
        {{.command = SN_IPC_DUMP3, .dump = {"/core", 0, 0}}, "dump type 0"},
        {{.command = SN_IPC_DUMP3, .dump = {"/core", 5, 0}}, "dump type 5"},
        {{.command = SN_IPC_DUMP3, .dump = {"/core", 1, 8}}, "dump flags 0x8"},
        {{.command = SN_IPC_DUMP, .dump = {"/core", 1, 2}}, "dump flags 0x2"},
        {{.command = SN_IPC_SET_VARIABLE, .variable = {"", "v"}}, "name is empty"},
        {{.command = SN_IPC_SET_VARIABLE, .variable = {"a=b", "v"}}, "has a '='"},
        {{.command = SN_IPC_SET_VARIABLE, .variable = {"a", NULL}}, "has no value"},
        {{.command = SN_IPC_SET_VARIABLE, .variable = {"a", "\xED\xA0\x80"}}, "not valid UTF-8"},
        {{.command = SN_IPC_ATTACH_PROFILER, .profiler = {.path = "/p", .timeout_ms = 1}},
         "class id is zero"},
        {{.command = SN_IPC_ATTACH_PROFILER, .profiler = {.path = "/p", .clsid = CLSID}},
         "no time"},
        {{.command = SN_IPC_ATTACH_PROFILER,
          .profiler = {.path = "/p", .clsid = CLSID, .timeout_ms = 1, .client_data_size = 4}},
         "at no address"},
        {{.command = SN_IPC_STARTUP_PROFILER,
          .profiler = {.path = "/p", .clsid = CLSID, .client_data = "", .client_data_size = 1}},
         "no client data"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        expect_bad(&bad[i].request, bad[i].words);
}

static void a_message_may_have_65535_bytes_and_not_one_more(void **state)
{
    static const uint8_t data[65536];
    struct sn_ipc_request request = {
        .command = SN_IPC_ATTACH_PROFILER,
        .profiler = {.clsid = CLSID, .path = "/p", .timeout_ms = 1, .client_data = data},
    };
    struct sonde_error err = {0};
    (void)state;
    request.profiler.client_data_size = 65535 - 20 - 4 - 16 - 4 - 6 - 4;
    struct sn_buf message = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE);
    assert_int_equal(sn_ipc_encode(&request, &message, &err), SONDE_OK);
    assert_int_equal(message.size, 65535);
    sn_buf_done(&message);
    request.profiler.client_data_size++;
    assert_int_equal(sn_ipc_encode(&request, &message, &err), SONDE_E_LIMIT);
    sn_buf_done(&message);
}

static void a_thousand_providers_are_fine(void **state)
{
    static struct sn_ipc_provider many[1000];
    static char names[1000][8];
    struct sn_ipc_request request = {.command = SN_IPC_COLLECT_TRACING5,
                                     .collect = COLLECT(0, true, many)};
    struct sonde_error err = {0};
    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "p%zu", i);
        many[i].name = names[i];
    }
    struct sn_buf message = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE);
    assert_int_equal(sn_ipc_encode(&request, &message, &err), SONDE_OK);
    sn_buf_done(&message);
}

static struct sn_buf recorded(const char *name)
{
    char path[256];
    struct sonde_error err = {0};
    struct sn_buf bytes = sn_buf_with_limit(1u << 20);
    (void)snprintf(path, sizeof(path), SONDE_SOURCE_DIR "/fuzz/corpus/ipc_reply/%s", name);
    assert_int_equal(sn_file_read_at(AT_FDCWD, path, &bytes, &err), SONDE_OK);
    return bytes;
}

static void a_recorded_process_info_is_read_and_every_cut_refused(void **state)
{
    static const char *const names[] = {"process-info-net10", "process-info2-net10",
                                        "process-info3-net10"};
    (void)state;
    for (unsigned generation = 1; generation <= 3; generation++) {
        struct sn_buf bytes = recorded(names[generation - 1]);
        struct sn_ipc_process_info info = {0};
        struct sonde_error err = {0};
        assert_int_equal(
            sn_ipc_decode_process_info(bytes.bytes + 20, bytes.size - 20, generation, &info, &err),
            SONDE_OK);
        assert_string_equal(info.command_line,
                            "/opt/dn/10/dotnet /srv/app/targets.dll idle --seconds 40");
        assert_string_equal(info.os, "Linux");
        assert_string_equal(info.arch, "x64");
        assert_string_equal(info.entry_assembly, generation > 1 ? "targets" : "");
        assert_string_equal(info.version, generation > 1 ? "10.0.12" : "");
        assert_string_equal(info.rid, generation > 2 ? "linux-x64" : "");
        assert_int_equal(info.major, generation > 1 ? 10 : 0);
        sn_ipc_process_info_done(&info);
        for (size_t size = 20; size < bytes.size; size++) {
            struct sonde_error cut = {0};
            assert_true(sn_ipc_decode_process_info(bytes.bytes + 20, size - 20, generation, &info,
                                                   &cut) < 0);
            assert_true(cut.text[0]);
        }
        sn_buf_done(&bytes);
    }
}

static void a_recorded_environment_is_read_and_every_cut_refused(void **state)
{
    struct sn_buf bytes = recorded("environment-net10");
    struct sn_ipc_environment environment = {0};
    struct sn_ipc_reply_header header;
    struct sonde_error err = {0};
    size_t more = 0;
    bool found = false;
    (void)state;
    assert_int_equal(sn_ipc_decode_reply_header(bytes.bytes, bytes.size, &header, &err), SONDE_OK);
    assert_int_equal(header.size, 26);
    assert_int_equal(sn_ipc_decode_environment_size(bytes.bytes + 20, 6, &more, &err), SONDE_OK);
    assert_int_equal(header.size + more, bytes.size);
    assert_int_equal(
        sn_ipc_decode_environment(bytes.bytes + 26, bytes.size - 26, &environment, &err), SONDE_OK);
    for (size_t i = 0; i < environment.count; i++)
        found |= strcmp(environment.variables[i], "GREETING=gr\xC3\xBCn") == 0;
    assert_true(found);
    sn_ipc_environment_done(&environment);
    for (size_t size = 0; size < more; size++) {
        struct sonde_error cut = {0};
        assert_true(sn_ipc_decode_environment(bytes.bytes + 26, size, &environment, &cut) < 0);
    }
    sn_buf_done(&bytes);
}

static void a_recorded_refusal_has_code_and_text(void **state)
{
    struct sn_buf bytes = recorded("dump3-refused-net10");
    struct sn_buf said = sn_buf_with_limit(4096);
    struct sn_ipc_reply_header header;
    struct sonde_error err = {0};
    uint32_t hresult = 0;
    (void)state;
    assert_int_equal(sn_ipc_decode_reply_header(bytes.bytes, bytes.size, &header, &err), SONDE_OK);
    assert_true(header.is_error);
    assert_int_equal(sn_ipc_decode_error(bytes.bytes + 20, bytes.size - 20, &hresult, &said, &err),
                     SONDE_OK);
    assert_int_equal(hresult, SN_IPC_HR_FAIL);
    assert_non_null(strstr(sn_buf_string(&said), "/nowhere/core"));
    for (size_t size = 20; size < bytes.size; size++) {
        struct sonde_error cut = {0};
        int rc = sn_ipc_decode_error(bytes.bytes + 20, size - 20, &hresult, &said, &cut);
        assert_true(size == 24 ? rc == SONDE_OK : rc < 0); /* the text may be missing as a whole */
    }
    sn_buf_done(&said);
    sn_buf_done(&bytes);
}

static void a_reply_header_is_checked(void **state)
{
    struct sn_buf bytes = recorded("stop-net10");
    struct sn_ipc_reply_header header;
    uint64_t id = 0;
    (void)state;
    for (size_t size = 0; size < 20; size++)
        assert_int_equal(sn_ipc_decode_reply_header(bytes.bytes, size, &header, NULL),
                         SONDE_E_TRUNCATED);
    for (size_t size = 0; size < 8; size++)
        assert_int_equal(sn_ipc_decode_session_id(bytes.bytes + 20, size, &id, NULL),
                         SONDE_E_TRUNCATED);
    assert_int_equal(sn_ipc_decode_session_id(bytes.bytes + 20, 8, &id, NULL), SONDE_OK);
    assert_int_equal(id, 12345);
    bytes.bytes[14] = 19; /* size */
    assert_int_equal(sn_ipc_decode_reply_header(bytes.bytes, 20, &header, NULL), SONDE_E_FORMAT);
    bytes.bytes[14] = 28;
    bytes.bytes[16] = 4; /* set */
    assert_int_equal(sn_ipc_decode_reply_header(bytes.bytes, 20, &header, NULL), SONDE_E_FORMAT);
    bytes.bytes[16] = 0xFF;
    bytes.bytes[17] = 1; /* neither OK nor error */
    assert_int_equal(sn_ipc_decode_reply_header(bytes.bytes, 20, &header, NULL), SONDE_E_FORMAT);
    bytes.bytes[17] = 0;
    bytes.bytes[0] = 'd';
    assert_int_equal(sn_ipc_decode_reply_header(bytes.bytes, 20, &header, NULL), SONDE_E_FORMAT);
    sn_buf_done(&bytes);
}

static void announced_sizes_have_ceilings(void **state)
{
    struct sn_ipc_environment environment = {0};
    struct sn_ipc_process_info info = {0};
    size_t more = 0;
    (void)state;
    assert_int_equal(sn_ipc_decode_environment_size("\x01\x00\x40\x00\x00\x00", 6, &more, NULL),
                     SONDE_E_LIMIT);
    assert_int_equal(sn_ipc_decode_environment("\xff\xff\xff\xff", 4, &environment, NULL),
                     SONDE_E_TRUNCATED);
    struct sn_buf many = sn_buf_with_limit(1u << 20);
    sn_buf_u32(&many, SN_IPC_MOST_VARIABLES + 1);
    sn_buf_fill(&many, 0, (SN_IPC_MOST_VARIABLES + 1) * sizeof(uint32_t));
    assert_int_equal(sn_ipc_decode_environment(many.bytes, many.size, &environment, NULL),
                     SONDE_E_LIMIT);
    sn_buf_clear(&many);
    sn_buf_fill(&many, 0, 24);
    sn_buf_u32(&many, 32769);
    sn_buf_fill(&many, 0, 32769 * 2 + 8);
    assert_true(sn_ipc_decode_process_info(many.bytes, many.size, 1, &info, NULL) < 0);
    sn_buf_done(&many);
}

static void a_guid_is_read_and_written(void **state)
{
    struct sn_ipc_guid guid = {{0}};
    char text[37];
    (void)state;
    assert_true(sn_ipc_guid_parse("{E13C0D23-ccbc-4e12-931b-d9cc2eee27e4}", &guid));
    assert_int_equal(guid.bytes[0], 0x23);
    assert_int_equal(guid.bytes[15], 0xe4);
    assert_string_equal(sn_ipc_guid_text(&guid, text), "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4");
    assert_true(sn_ipc_guid_parse(text, &guid));
    assert_false(sn_ipc_guid_parse("", &guid));
    assert_false(sn_ipc_guid_parse("{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", &guid));
    assert_false(sn_ipc_guid_parse("e13c0d23-ccbc-4e12-931b-d9cc2eee27e", &guid));
    assert_false(sn_ipc_guid_parse("e13c0d23-ccbc-4e12-931b-d9cc2eee27e45", &guid));
    assert_false(sn_ipc_guid_parse("e13c0d23ccbc-4e12-931b-d9cc2eee27e4", &guid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_has_its_exact_bytes),
        cmocka_unit_test(what_is_decoded_encodes_to_the_same_bytes),
        cmocka_unit_test(every_cut_of_every_request_is_refused),
        cmocka_unit_test(whatever_follows_a_request_is_refused),
        cmocka_unit_test(the_shapes_that_kill_a_runtime_are_refused),
        cmocka_unit_test(malformed_strings_are_refused),
        cmocka_unit_test(counts_that_do_not_match_are_refused),
        cmocka_unit_test(other_headers_are_refused),
        cmocka_unit_test(a_bad_session_is_refused_with_words),
        cmocka_unit_test(other_bad_requests_are_refused_with_words),
        cmocka_unit_test(a_message_may_have_65535_bytes_and_not_one_more),
        cmocka_unit_test(a_thousand_providers_are_fine),
        cmocka_unit_test(a_recorded_process_info_is_read_and_every_cut_refused),
        cmocka_unit_test(a_recorded_environment_is_read_and_every_cut_refused),
        cmocka_unit_test(a_recorded_refusal_has_code_and_text),
        cmocka_unit_test(a_reply_header_is_checked),
        cmocka_unit_test(announced_sizes_have_ceilings),
        cmocka_unit_test(a_guid_is_read_and_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
