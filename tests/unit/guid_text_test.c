/* GUIDs: written and read back, in the order that .NET has them. */
#include "check.h"

#include <string.h>

#include "base/guid_text.h"

static const uint8_t bytes[16] = {0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66,
                                  0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};

static void they_are_written_and_read_back(void **state)
{
    (void)state;
    static const char *const texts[] = {"00112233-4455-6677-8899-aabbccddeeff",
                                        "00112233-4455-6677-8899-AABBCCDDEEFF",
                                        "{00112233-4455-6677-8899-aabbccddeeff}"};
    char text[SN_GUID_LENGTH + 1];
    assert_string_equal(sn_guid_write(bytes, text), texts[0]);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint8_t read[16] = {0};
        assert_true(sn_guid_read(texts[i], strlen(texts[i]), read));
        assert_memory_equal(read, bytes, sizeof(read));
    }
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{}",
        "00112233-4455-6677-8899-aabbccddeef",
        "00112233-4455-6677-8899-aabbccddeeff0",
        "{00112233-4455-6677-8899-aabbccddeeff",
        "00112233445566778899aabbccddeeff0000",
        "0011223g-4455-6677-8899-aabbccddeeff",
        "\x10\x10"
        "112233-4455-6677-8899-aabbccddeeff",
    };
    uint8_t read[16];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(sn_guid_read(texts[i], strlen(texts[i]), read));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_written_and_read_back),
        cmocka_unit_test(what_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
