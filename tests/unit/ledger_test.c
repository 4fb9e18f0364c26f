/* The ledger of sessions: what is written is read, and nothing else; what the kernel tells of a
 * stream. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/run_folder.h"
#include "source/ipc/discover.h"
#include "source/ipc/ledger.h"
#include "source/ipc/stream_end.h"

static const struct sn_ledger_entry longest = {
    .boot = "01234567-89ab-cdef-0123-456789abcdef",
    .network = UINT64_MAX,
    .pid = INT32_MAX,
    .start_ticks = UINT64_MAX,
    .session_id = UINT64_MAX,
    .end = {.inode = UINT32_MAX, .cookie = UINT64_MAX},
};

static void what_is_written_is_read(void **state)
{
    struct sn_ledger_entry read;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_LEDGER_SIZE);
    (void)state;
    sn_ledger_encode(&longest, &text);
    assert_false(text.failed);
    assert_true(sn_ledger_decode(text.bytes, text.size, &read));
    assert_memory_equal(&read, &longest, sizeof(read));
}

static void what_is_cut_anywhere_is_nothing(void **state)
{
    struct sn_ledger_entry read;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_LEDGER_SIZE);
    (void)state;
    sn_ledger_encode(&longest, &text);
    for (size_t size = 0; size < text.size; size++) {
        /* Of its own, so that a byte behind the cut is found out by the sanitizers. */
        SN_AUTO(sn_free) uint8_t *cut = malloc(size ? size : 1);
        assert_non_null(cut);
        memcpy(cut, text.bytes, size);
        assert_false(sn_ledger_decode(cut, size, &read));
    }
}

static void what_is_changed_anywhere_is_nothing_or_another_entry(void **state)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_LEDGER_SIZE);
    (void)state;
    sn_ledger_encode(&longest, &text);
    for (size_t at = 0; at < text.size; at++) {
        for (unsigned flip = 1; flip < 256; flip++) {
            struct sn_ledger_entry read = {0};
            text.bytes[at] ^= (uint8_t)flip;
            if (sn_ledger_decode(text.bytes, text.size, &read))
                assert_memory_not_equal(&read, &longest, sizeof(read));
            text.bytes[at] ^= (uint8_t)flip;
        }
    }
}

static void names_of_other_things_are_no_sessions(void **state)
{
    (void)state;
    assert_int_equal(sn_ledger_name_pid("session-12@34-56"), 12);
    assert_int_equal(sn_ledger_name_pid("session-@34-56"), 0);
    assert_int_equal(sn_ledger_name_pid("session-12"), 0);
    assert_int_equal(sn_ledger_name_pid("session-99999999999999999999@1-2"), 0);
    assert_int_equal(sn_ledger_name_pid("12@34"), 0);
    assert_int_equal(sn_ledger_name_pid("."), 0);
}

static void the_kernel_knows_the_other_end(void **state)
{
    int pair[2];
    struct sn_stream_end end;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    if (!sn_stream_end_of(pair[0], &end)) {
        skip_because("the kernel has no sock_diag for Unix sockets");
    }
    assert_int_equal(sn_stream_end_state(&end), SN_STREAM_HELD);
    assert_true(sn_stream_end_is_of(&end, getpid()));
    int copy = dup(pair[0]);
    close(pair[0]);
    assert_int_equal(sn_stream_end_state(&end), SN_STREAM_HELD); /* as by a child that has it */
    close(copy);
    assert_int_equal(sn_stream_end_state(&end), SN_STREAM_ALONE);
    struct sn_stream_end other = {end.inode, end.cookie + 1};
    assert_int_equal(sn_stream_end_state(&other), SN_STREAM_CLOSED); /* the number used again */
    close(pair[1]);
    assert_int_equal(sn_stream_end_state(&end), SN_STREAM_CLOSED);
    assert_false(sn_stream_end_is_of(&end, getpid()));
    assert_false(sn_stream_end_of(-1, &end));
}

/* The file of a session of ours that a killed program would have left. */
static void note_left(const struct sn_ipc_target *target, int stream, char name[128])
{
    struct sn_ledger_note note = {0};
    sn_ledger_enter(&note, target, 77, stream);
    assert_true(note.is_held);
    (void)snprintf(name, 128, "%s", strrchr(note.path, '/') + 1);
    sn_ledger_leave(&note);
}

static void an_entry_is_judged_by_what_the_kernel_says(void **state)
{
    struct sn_ipc_target target = {.pid = getpid(), .start_ticks = 5};
    struct sn_stream_end end;
    struct sn_ledger_note note = {0};
    struct sn_ledger_note again = {0};
    uint64_t id = 0;
    char name[128];
    int pair[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    SN_AUTO(sn_close) int folder = sn_run_folder_make();
    if (folder < 0 || !sn_stream_end_of(pair[0], &end))
        skip_because("no sock_diag for Unix sockets, or no folder for the ledger");
    note_left(&target, pair[0], name);
    /* its owner is killed, but somebody has inherited the stream */
    assert_int_equal(sn_ledger_judge(folder, name, &target, &note, &id), SN_LEDGER_OWNED);
    close(pair[0]);
    assert_int_equal(sn_ledger_judge(folder, name, &target, &note, &id), SN_LEDGER_ORPHAN);
    assert_int_equal(id, 77);
    /* under the lock of who cleans up */
    assert_int_equal(sn_ledger_judge(folder, name, &target, &again, &id), SN_LEDGER_OWNED);
    sn_ledger_leave(&note);
    close(pair[1]);
    assert_int_equal(sn_ledger_judge(folder, name, &target, &note, &id), SN_LEDGER_OVER);
    sn_ledger_strike(&note);
    assert_int_equal(faccessat(folder, name, F_OK, 0), -1);
}

static void a_stream_of_another_process_is_left_alone(void **state)
{
    struct sn_ipc_target target = {.pid = 1, .start_ticks = 5};
    struct sn_ledger_note note = {0};
    struct sn_stream_end end;
    uint64_t id = 0;
    char name[128];
    int pair[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    SN_AUTO(sn_close) int folder = sn_run_folder_make();
    if (folder < 0 || !sn_stream_end_of(pair[0], &end))
        skip_because("no sock_diag for Unix sockets, or no folder for the ledger");
    note_left(&target, pair[0], name);
    close(pair[0]);
    assert_int_equal(sn_ledger_judge(folder, name, &target, &note, &id), SN_LEDGER_OWNED);
    close(pair[1]);
    sn_ledger_remove_left(folder, name);
    assert_int_equal(faccessat(folder, name, F_OK, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_cut_anywhere_is_nothing),
        cmocka_unit_test(what_is_changed_anywhere_is_nothing_or_another_entry),
        cmocka_unit_test(names_of_other_things_are_no_sessions),
        cmocka_unit_test(the_kernel_knows_the_other_end),
        cmocka_unit_test(an_entry_is_judged_by_what_the_kernel_says),
        cmocka_unit_test(a_stream_of_another_process_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
