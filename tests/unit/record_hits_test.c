/* Addresses of a recording, up to the ceilings and beyond. */
#include "check.h"

#include "api/record_hits.h"
#include "sonde/error.h"
#include "universal_bytes.h"

#define PROCESS_LIMIT (1u << 17)

static void give(void *to, const struct sn_event *event)
{
    sn_hits_take(to, event);
}

static void tell(struct sn_hits *hits, struct universal_event made)
{
    send_universal(&made, give, hits);
}

static void tell_sample(struct sn_hits *hits, uint32_t pid, const uint64_t *stack)
{
    tell(hits, (struct universal_event){
                   .kind = SN_UNIVERSAL_CPU, .pid = pid, .stack = stack, .depth = 1});
}

/* What is of one process too many gets no names, rather than those of another. */
static void one_process_too_many_is_dropped(void **state)
{
    (void)state;
    struct sn_hits *hits = NULL;
    struct sn_hit *found = NULL;
    size_t count = 0;
    const uint64_t stack[] = {0x1000, 0x2000};
    assert_int_equal(sn_hits_new(&hits, NULL), SONDE_OK);
    for (uint32_t pid = 1; pid <= PROCESS_LIMIT; pid++)
        tell(hits, (struct universal_event){.kind = SN_UNIVERSAL_PROCESS_CREATE, .pid = pid});
    tell_sample(hits, 1, &stack[0]);
    assert_int_equal(sn_hits_dropped(hits), 0);
    tell_sample(hits, PROCESS_LIMIT + 1, &stack[1]);
    tell(hits, (struct universal_event){.kind = SN_UNIVERSAL_PROCESS_CREATE, .pid = 1});
    tell_sample(hits, 1, &stack[1]); /* not the one from before */
    assert_int_equal(sn_hits_dropped(hits), 2);
    assert_int_equal(sn_hits_sort(hits, NULL), SONDE_OK);
    found = sn_hits_all(hits, &count);
    assert_int_equal(count, 1);
    assert_int_equal(sn_hit_address(found), stack[0]);
    sn_hits_free(hits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process_too_many_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
