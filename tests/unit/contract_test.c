/* The runtime's description of itself: how much of it is read. */
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "check.h"
#include "source/memory/contract.h"
#include "source/memory/memory.h"

#define HEADER_AT    UINT64_C(0x10000)
#define POINTERS_AT  UINT64_C(0x100000)
#define JSON_AT      UINT64_C(0x10000000)
#define JSON_MAX     (1u << 20)
#define POINTERS_MAX 4096u

static const char json[] = "{\"contracts\":{\"Thread\":7}}";

/* A target that has a descriptor, and behind the words of its JSON as much space as is asked for.
 */
struct target {
    uint8_t header[40];
    bool was_read; /* more than the header */
};

static size_t read_target(void *user, uint64_t address, void *to, size_t size)
{
    struct target *target = user;
    uint8_t *bytes = to;
    target->was_read |= address >= POINTERS_AT;
    memset(bytes, address >= JSON_AT ? ' ' : 0, size);
    for (size_t i = 0; i < size; i++) {
        uint64_t at = address + i;
        if (at >= JSON_AT && at - JSON_AT < sizeof(json) - 1)
            bytes[i] = (uint8_t)json[at - JSON_AT];
        if (at >= HEADER_AT && at - HEADER_AT < sizeof(target->header))
            bytes[i] = target->header[at - HEADER_AT];
    }
    return size;
}

static void put(uint8_t *to, uint64_t value, size_t size)
{
    memcpy(to, &value, size);
}

/* SONDE_OK: it was read, and says what the JSON says. */
static int read_contract(struct target *target, uint32_t json_size, uint32_t pointer_count)
{
    const struct sn_memory_source source = {.read = read_target, .user = target};
    SN_AUTO(sn_memory_free) struct sn_memory *memory = NULL;
    SN_AUTO(sn_contract_free) struct sn_contract *contract = NULL;
    struct sonde_error err = {0};
    *target = (struct target){.header = "DNCCDAC"};
    put(target->header + 8, 1, 4);
    put(target->header + 12, json_size, 4);
    put(target->header + 16, JSON_AT, 8);
    put(target->header + 24, pointer_count, 4);
    put(target->header + 32, POINTERS_AT, 8);
    assert_int_equal(sn_memory_of_source(&source, NULL, 0, &memory, &err), SONDE_OK);
    int rc = sn_contract_read(memory, HEADER_AT, &contract, &err);
    if (rc == SONDE_OK)
        assert_int_equal(sn_contract_version(contract, "Thread"), 7);
    else
        assert_null(contract);
    return rc;
}

/* Sizes come from the target: what is absurd is refused before any memory is taken for it. */
static void a_description_of_absurd_length_is_refused(void **state)
{
    static const uint32_t absurd[] = {JSON_MAX + 1, 2 * JSON_MAX, UINT32_MAX};
    struct target target;
    (void)state;
    assert_int_equal(read_contract(&target, sizeof(json) - 1, 0), SONDE_OK);
    assert_int_equal(read_contract(&target, JSON_MAX, 0), SONDE_OK);
    assert_true(target.was_read);
    for (size_t i = 0; i < sizeof(absurd) / sizeof(*absurd); i++) {
        assert_int_equal(read_contract(&target, absurd[i], 0), SONDE_E_FORMAT);
        assert_false(target.was_read);
    }
}

static void a_description_with_absurdly_many_pointers_is_refused(void **state)
{
    static const uint32_t absurd[] = {POINTERS_MAX + 1, 2 * POINTERS_MAX, UINT32_MAX};
    struct target target;
    (void)state;
    assert_int_equal(read_contract(&target, sizeof(json) - 1, POINTERS_MAX), SONDE_OK);
    assert_true(target.was_read);
    for (size_t i = 0; i < sizeof(absurd) / sizeof(*absurd); i++) {
        assert_int_equal(read_contract(&target, sizeof(json) - 1, absurd[i]), SONDE_E_FORMAT);
        assert_false(target.was_read);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_description_of_absurd_length_is_refused),
        cmocka_unit_test(a_description_with_absurdly_many_pointers_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
