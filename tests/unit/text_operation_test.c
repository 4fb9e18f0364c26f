/* Records and pieces on their way into a file: what is too large takes nothing else with it, and
 * the file says so, or is no whole file. */
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/download_piece.h"
#include "daemon/text_operation.h"
#include "own_folder.h"

struct bench {
    char folder[OWN_FOLDER_SIZE];
    struct sn_artefact *artefact;
};

static int begin(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    struct sonde_error err = {0};
    char path[96];
    assert_non_null(bench);
    own_folder_make(bench->folder, "text");
    (void)snprintf(path, sizeof(path), "%s/file", bench->folder);
    if (sn_artefact_new(path, false, &bench->artefact, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    sn_artefact_release(bench->artefact);
    assert_int_equal(rmdir(bench->folder), 0);
    free(bench);
    return 0;
}

static void expect_file(struct bench *bench, const char *text)
{
    char got[512] = "";
    FILE *file = fopen(sn_artefact_path(bench->artefact), "r");
    if (file) {
        got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
        (void)fclose(file);
    }
    assert_string_equal(got, text);
}

static void put_lost(void *user, uint64_t count, struct sn_buf *to)
{
    (void)user;
    sn_buf_format(to, "-%llu\n", (unsigned long long)count);
}

static void put(struct sn_text_output *output, const char *record)
{
    sn_buf_text(&output->text, record);
    sn_buf_u8(&output->text, '\n');
    sn_text_output_put(output);
}

/* Of a record with its line's end: one below the ceiling, exactly, one above it. */
static void a_record_that_is_too_large_leaves_those_before_and_behind_it(void **state)
{
    struct bench *bench = *state;
    struct sn_text_output output = {.put_lost = put_lost};
    assert_int_equal(sn_text_output_begin(&output, bench->artefact, 8, NULL), SONDE_OK);
    expect_file(bench, "");
    put(&output, "ab");
    put(&output, "123456"); /* 7, but not beside the 3 that wait: the file says what is missing */
    put(&output, "c");
    assert_int_equal(sn_text_output_flush(&output), SONDE_OK);
    expect_file(bench, "ab\n-1\nc\n");
    put(&output, "1234567");
    assert_int_equal(sn_text_output_flush(&output), SONDE_OK);
    put(&output, "12345678");
    put(&output, "d");
    assert_int_equal(sn_text_output_flush(&output), SONDE_OK);
    expect_file(bench, "ab\n-1\nc\n1234567\n-1\nd\n");
    sn_text_output_done(&output);
}

/* Not even the word about it finds room: it is said when there is some. */
static void losses_are_added_up_until_they_can_be_told(void **state)
{
    struct bench *bench = *state;
    struct sn_text_output output = {.put_lost = put_lost};
    assert_int_equal(sn_text_output_begin(&output, bench->artefact, 2, NULL), SONDE_OK);
    put(&output, "abc");
    put(&output, "abc");
    put(&output, "d");
    assert_int_equal(sn_text_output_flush(&output), SONDE_OK);
    expect_file(bench, "d\n");
    assert_int_equal(output.lost_count, 2);
    output.text.limit = 100;
    sn_text_output_lose(&output); /* as without memory */
    assert_int_equal(sn_text_output_flush(&output), SONDE_OK);
    expect_file(bench, "d\n-3\n");
    assert_int_equal(output.lost_count, 0);
    sn_text_output_done(&output);
}

static void a_piece_without_secrets_that_is_too_large_fails_the_file(void **state)
{
    struct bench *bench = *state;
    static const char piece[] = "{\"a\":1}\n";
    for (size_t limit = sizeof(piece) - 2; limit <= sizeof(piece); limit++) {
        struct sn_download_pieces pieces = {.hides_secrets = true, .shown_max = limit};
        bool fits = limit >= sizeof(piece) - 1;
        sn_download_pieces_begin(&pieces, bench->artefact);
        int rc = sn_download_pieces_write(&pieces, piece, sizeof(piece) - 1);
        assert_int_equal(rc, fits ? SONDE_OK : SONDE_E_LIMIT);
        rc = sn_download_pieces_write(&pieces, "x", 1);
        assert_int_equal(rc, fits ? SONDE_OK : SONDE_E_LIMIT); /* a failure stays */
        rc = sn_download_pieces_finish(&pieces);
        assert_int_equal(rc, fits ? SONDE_OK : SONDE_E_LIMIT);
        assert_int_equal(pieces.err.text[0] != '\0', !fits);
        sn_download_pieces_done(&pieces);
    }
    expect_file(bench, "{\"a\":1}\nx{\"a\":1}\nx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_record_that_is_too_large_leaves_those_before_and_behind_it, begin, end),
        cmocka_unit_test_setup_teardown(losses_are_added_up_until_they_can_be_told, begin, end),
        cmocka_unit_test_setup_teardown(a_piece_without_secrets_that_is_too_large_fails_the_file,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
