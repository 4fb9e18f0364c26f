/* What lies at an address of a process at a time; and stacks of it as nodes of a profile. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/own.h"
#include "method_bytes.h"
#include "model/profile.h"
#include "symbol/code.h"
#include "symbol/frames.h"
#include "universal_bytes.h"

#define KERNEL_START 0xffff800000000000ull
#define SCHEDULE     0xffffffff81000100ull

static void give(void *to, const struct sn_event *event)
{
    sn_code_take(to, event);
}

static void tell(struct sn_code *code, struct universal_event made)
{
    send_universal(&made, give, code);
}

static struct sn_code *new_code(void)
{
    struct sn_code *code = NULL;
    assert_int_equal(sn_code_new(&code, NULL), 0);
    return code;
}

static void tell_process(struct sn_code *code, uint32_t pid, uint64_t time_ns, const char *name)
{
    tell(code, (struct universal_event){.kind = time_ns ? SN_UNIVERSAL_PROCESS_CREATE
                                                        : SN_UNIVERSAL_EXISTING_PROCESS,
                                        .pid = pid,
                                        .time_ns = time_ns,
                                        .texts = {name}});
}

static void tell_mapping(struct sn_code *code, uint32_t pid, uint64_t time_ns, uint64_t id,
                         uint64_t start, const char *path)
{
    tell(code, (struct universal_event){.kind = SN_UNIVERSAL_MAPPING,
                                        .pid = pid,
                                        .time_ns = time_ns,
                                        .numbers = {id, start, start + 0x10000, 0x2000, id},
                                        .texts = {path}});
}

static void tell_symbol(struct sn_code *code, uint64_t mapping, uint64_t start, uint64_t size,
                        const char *name)
{
    tell(code, (struct universal_event){.kind = SN_UNIVERSAL_SYMBOL,
                                        .pid = 0,
                                        .time_ns = 1u << 30,
                                        .numbers = {start, mapping, start, start + size - 1},
                                        .texts = {name}});
}

static void tell_kernel(struct sn_code *code)
{
    for (uint32_t pid = 1; pid < 4; pid++)
        tell(code, (struct universal_event){.kind = SN_UNIVERSAL_MAPPING,
                                            .pid = pid,
                                            .numbers = {9, KERNEL_START, UINT64_MAX, 0, 0},
                                            .texts = {"vmlinux"}});
    tell_symbol(code, 9, SCHEDULE, 0x100, "schedule");
}

static void tell_method(struct sn_code *code, uint32_t pid, uint64_t start, uint32_t flags,
                        const char *name)
{
    SN_AUTO(sn_buf_done) struct sn_buf payload = sn_buf_with_limit(1u << 20);
    const struct sn_schema schema = {.provider = RUNTIME_PROVIDER, .name = "", .event_id = 143};
    sn_buf_u64(&payload, 1);
    sn_buf_u64(&payload, 77);
    sn_buf_u64(&payload, start);
    sn_buf_u32(&payload, 0x100);
    sn_buf_u32(&payload, 0x06000001);
    sn_buf_u32(&payload, flags);
    put_wide(&payload, "Shop.Tax");
    put_wide(&payload, name);
    put_wide(&payload, "void ()");
    sn_buf_u16(&payload, 0);
    sn_buf_u64(&payload, flags);
    const struct sn_event event = {.schema = &schema,
                                   .time_ns = 10,
                                   .pid = pid,
                                   .payload = payload.bytes,
                                   .payload_size = (uint32_t)payload.size,
                                   .pointer_size = 8};
    sn_code_take(code, &event);
}

static struct sn_place place_at(struct sn_code *code, uint32_t pid, uint64_t address,
                                bool is_return, uint64_t time_ns)
{
    struct sn_place place;
    sn_code_find(code, pid, address, is_return, time_ns, &place);
    return place;
}

static void a_pid_used_again_is_another_process(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    tell_process(code, 7, 0, "first");
    tell_mapping(code, 7, 5, 1, 0x10000, "/bin/first");
    tell(code,
         (struct universal_event){.kind = SN_UNIVERSAL_PROCESS_EXIT, .pid = 7, .time_ns = 100});
    tell_process(code, 7, 200, "second");
    tell_mapping(code, 7, 210, 2, 0x10000, "/lib/second (deleted)");
    tell_process(code, 7, 300, "third"); /* the exit before it was lost */
    assert_int_equal(sn_code_process_count(code), 3);
    assert_string_equal(sn_code_process(code, 7, 50)->name, "first");
    assert_int_equal(sn_code_process(code, 7, 50)->until_ns, 100);
    assert_string_equal(sn_code_process(code, 7, 250)->name, "second");
    assert_int_equal(sn_code_process(code, 7, 250)->until_ns, 300);
    assert_string_equal(sn_code_process(code, 7, 400)->name, "third");
    assert_null(sn_code_process(code, 8, 50));
    assert_string_equal(place_at(code, 7, 0x10010, false, 50).module, "first");
    assert_string_equal(place_at(code, 7, 0x10010, false, 250).module, "second");
    assert_int_equal(place_at(code, 7, 0x10010, false, 350).kind, SN_PLACE_UNKNOWN);
}

static void a_later_mapping_hides_the_one_before(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    tell_process(code, 7, 0, "app");
    tell_mapping(code, 7, 5, 1, 0x10000, "/lib/a.so");
    tell_mapping(code, 7, 100, 2, 0x18000, "/lib/b.so");
    assert_string_equal(place_at(code, 7, 0x18010, false, 50).module, "a.so");
    assert_string_equal(place_at(code, 7, 0x18010, false, 150).module, "b.so");
    assert_string_equal(place_at(code, 7, 0x18010, false, 1).module, "a.so");
    assert_false(place_at(code, 7, 0x18010, false, 50).is_settled);
    assert_true(place_at(code, 7, 0x10010, false, 50).is_settled);
}

static void native_code_has_names_or_offsets(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    tell_process(code, 7, 0, "app");
    tell_mapping(code, 7, 5, 1, 0x10000, "/lib/libcoreclr.so");
    tell(code, (struct universal_event){
                   .kind = SN_UNIVERSAL_MAPPING_METADATA,
                   .numbers = {1},
                   .texts = {"{\"type\":\"ELF\",\"p_vaddr\":\"0x3000\",\"p_offset\":\"0x2000\"}"}});
    tell_symbol(code, 1, 0x10100, 0x10, "operator new(unsigned long)");
    tell_symbol(code, 1, 0x10200, 0x10, "");
    tell(code, (struct universal_event){
                   .kind = SN_UNIVERSAL_LINE, .numbers = {1, 0x1010f, 42}, .texts = {"new.cpp"}});
    assert_string_equal(place_at(code, 7, 0x10110, true, 9).name, "operator new(unsigned long)");
    assert_int_equal(place_at(code, 7, 0x10110, true, 9).line, 42);
    assert_string_equal(place_at(code, 7, 0x10110, false, 9).name, "");
    assert_int_equal(place_at(code, 7, 0x1ffff, false, 9).kind, SN_PLACE_NATIVE);
    assert_int_equal(place_at(code, 7, 0x20000, false, 9).kind, SN_PLACE_UNKNOWN); /* its end */
    assert_int_equal(place_at(code, 7, 0x10110, false, 9).offset, 0x110 + 0x3000);
    assert_int_equal(place_at(code, 7, 0x10208, false, 9).offset, 0x200 + 0x3000);
    assert_null(place_at(code, 7, 0x10208, false, 9).file);
}

static void the_kernel_is_the_same_for_all(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    tell_kernel(code);
    assert_string_equal(place_at(code, 55, SCHEDULE + 5, false, 9).name, "schedule");
    assert_string_equal(place_at(code, 55, SCHEDULE + 0x100, true, 9).name, "schedule");
    struct sn_place place = place_at(code, 55, SCHEDULE + 0x100, false, 9);
    assert_int_equal(place.kind, SN_PLACE_KERNEL);
    assert_string_equal(place.name, "");
    assert_int_equal(place.offset, SCHEDULE + 0x100);
}

static void each_process_has_methods_of_its_own(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    tell_process(code, 1, 0, "one");
    tell_process(code, 2, 0, "two");
    tell_mapping(code, 2, 0, 3, 0x10000, "/memfd:doublemapper (deleted)");
    tell_method(code, 1, 0x10000, 8, "First");
    tell_method(code, 2, 0x10000, 8, "Second");
    assert_string_equal(place_at(code, 1, 0x10010, true, 20).method->name, "First");
    assert_string_equal(place_at(code, 2, 0x10010, true, 20).method->name, "Second");
    assert_string_equal(place_at(code, 2, 0x10100, true, 20).method->name, "Second");
    assert_int_equal(place_at(code, 2, 0x10100, false, 20).kind, SN_PLACE_STUB);
    assert_ptr_equal(place_at(code, 1, 0x10010, true, 20).method->type, /* kept once */
                     place_at(code, 2, 0x10010, true, 20).method->type);
}

static void tell_exit(struct sn_code *code, uint32_t pid, uint64_t time_ns)
{
    tell(code, (struct universal_event){
                   .kind = SN_UNIVERSAL_PROCESS_EXIT, .pid = pid, .time_ns = time_ns});
}

/* What the kernel tells of a program that is started: a fork, and then its exec. */
static void a_rundown_from_before_a_process_is_that_of_its_last_program(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    tell_process(code, 9, 0, "other");
    tell_method(code, 7, 0x10000, 8, "Sum"); /* at 10 */
    tell_process(code, 7, 100, "sh");
    tell_exit(code, 7, 120);
    tell_process(code, 7, 120, "dotnet");
    assert_string_equal(place_at(code, 7, 0x10010, true, 130).method->name, "Sum");
    assert_null(sn_code_process(code, 7, 110)->methods);
    assert_null(place_at(code, 7, 0x10010, true, 110).method);
}

static void the_next_program_with_a_pid_does_not_inherit_methods(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    tell_process(code, 7, 0, "dotnet");
    tell_method(code, 7, 0x10000, 8, "Sum");
    tell_exit(code, 7, 100);
    tell_process(code, 7, 120, "sh");
    assert_string_equal(place_at(code, 7, 0x10010, true, 50).method->name, "Sum");
    assert_null(sn_code_process(code, 7, 130)->methods);
}

static void processes_that_ended_can_be_forgotten(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    tell_process(code, 1, 0, "one");
    tell_method(code, 1, 0x10000, 8, "First");
    tell_exit(code, 1, 30);
    tell_process(code, 2, 5, "two");
    tell_process(code, 1, 40, "again");
    const struct sn_code_process *two = sn_code_process(code, 2, 50);
    sn_code_forget_before(code, 30);
    assert_int_equal(sn_code_process_count(code), 3);
    sn_code_forget_before(code, 31);
    assert_int_equal(sn_code_process_count(code), 2);
    assert_ptr_equal(sn_code_process(code, 2, 50), two);
    assert_int_equal(two->index, 0);
    assert_string_equal(sn_code_process(code, 1, 50)->name, "again");
    assert_string_equal(sn_code_process(code, 1, 20)->name, "again"); /* the nearest there is */
    assert_int_equal(place_at(code, 1, 0x10010, true, 50).kind, SN_PLACE_UNKNOWN);
}

/* Of all mappings of a recording there is a ceiling. A live view that lasts for days goes on below
 * it, as what ended gives its room back. */
static void what_is_forgotten_makes_room(void **state)
{
    (void)state;
    const uint64_t most = 2u << 20;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    for (uint32_t pid = 1; pid <= 2; pid++) {
        uint64_t now_ns = pid * 100u;
        tell_process(code, pid, now_ns, "one");
        for (uint64_t i = 0; i < most; i++)
            tell_mapping(code, pid, now_ns, i + 1, (i + 1) * 0x10000, "/lib/a.so");
        assert_int_equal(place_at(code, pid, most * 0x10000, false, now_ns).kind, SN_PLACE_NATIVE);
        tell_exit(code, pid, now_ns + 1);
        sn_code_forget_before(code, now_ns + 2);
    }
}

static void without_process_events_there_is_one_process(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    tell_method(code, 0, 0x10000, 8, "Only");
    assert_string_equal(place_at(code, 99, 0x10010, false, 20).method->name, "Only");
}

static bool ask(void *user, uint32_t pid, uint64_t address, struct sn_place *place)
{
    (void)user;
    if (pid != 7 || address != 0x4ff)
        return false;
    place->kind = SN_PLACE_NATIVE;
    place->name = "asked";
    return true;
}

static void what_no_event_told_is_asked_for(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    sn_code_set_native(code, ask, NULL);
    assert_string_equal(place_at(code, 7, 0x500, true, 1).name, "asked");
    assert_string_equal(place_at(code, 7, 0x500, false, 1).name, "");
}

/* --- stacks --- */

struct stacks {
    struct sn_code *code;
    struct sn_profile *profile;
    struct sn_frames *frames;
};

static void stacks_done_auto(struct stacks *stacks)
{
    sn_frames_free(stacks->frames);
    sn_profile_free(stacks->profile);
    sn_code_free(stacks->code);
}

static struct stacks new_stacks(void)
{
    static const struct sn_column column = {"cpu", SN_UNIT_NS};
    struct stacks stacks = {.code = new_code()};
    assert_int_equal(sn_profile_new(&column, 1, &stacks.profile, NULL), 0);
    assert_int_equal(sn_frames_new(stacks.code, stacks.profile, &stacks.frames, NULL), 0);
    sn_frames_set_kernel(stacks.frames);
    sn_frames_set_processes(stacks.frames);
    tell_kernel(stacks.code);
    tell_process(stacks.code, 1, 0, "shop");
    tell_mapping(stacks.code, 1, 0, 4, 0x7f0000000000, "/lib/libc.so.6");
    tell_symbol(stacks.code, 4, 0x7f0000000100, 0x10, "read");
    tell_method(stacks.code, 1, 0x10000, 8 | 3 << 7, "Loop");
    tell_method(stacks.code, 1, 0x20000, 8 | 5 << 7, "Loop"); /* OSR */
    return stacks;
}

static void note_node(void *to, const struct sn_event *event)
{
    struct stacks *stacks = ((void **)to)[0];
    *(uint32_t *)((void **)to)[1] = sn_frames_node(stacks->frames, event);
}

/* "process;caller;...;leaf" of a stack. */
static void assert_stack(struct stacks *stacks, uint32_t pid, const uint64_t *stack, uint32_t depth,
                         const char *expected)
{
    uint32_t node = 0;
    void *to[] = {stacks, &node};
    const struct universal_event made = {.kind = SN_UNIVERSAL_CPU,
                                         .pid = pid,
                                         .time_ns = 100,
                                         .numbers = {1},
                                         .stack = stack,
                                         .depth = depth};
    send_universal(&made, note_node, to);
    char text[512] = "";
    for (; node; node = stacks->profile->nodes[node].parent) {
        char before[512];
        memcpy(before, text, sizeof(before));
        (void)snprintf(text, sizeof(text), "%s%s%.200s",
                       stacks->profile->frames[stacks->profile->nodes[node].frame].name,
                       before[0] ? ";" : "", before);
    }
    assert_string_equal(text, expected);
}

static void stacks_go_from_the_process_to_the_kernel(void **state)
{
    (void)state;
    SN_AUTO(stacks_done) struct stacks stacks = new_stacks();
    /* `read` ends where the kernel was entered: not a return address; the call above it is one. */
    const uint64_t stack[] = {SCHEDULE + 0x100 - 1, SCHEDULE + 0x100, 0x7f000000010f, 0x10100};
    assert_stack(&stacks, 1, stack, 4, "shop;Shop.Tax.Loop;read;schedule;schedule");
    const uint64_t past[] = {SCHEDULE, 0x7f0000000110};
    assert_stack(&stacks, 1, past, 2, "shop;libc.so.6!0x2110;schedule");
    const uint64_t caller[] = {SCHEDULE, 0x7f0000000110, 0x7f0000000110};
    assert_stack(&stacks, 1, caller, 3, "shop;read;libc.so.6!0x2110;schedule");
    assert_stack(&stacks, 1, NULL, 0, "shop");
    const uint64_t nowhere[] = {0x500};
    assert_stack(&stacks, 1, nowhere, 1, "shop;[unknown code]");
}

static void a_method_replaced_while_it_ran_shows_once(void **state)
{
    (void)state;
    SN_AUTO(stacks_done) struct stacks stacks = new_stacks();
    const uint64_t replaced[] = {0x20010, 0x10010};
    assert_stack(&stacks, 1, replaced, 2, "shop;Shop.Tax.Loop");
    const uint64_t recursive[] = {0x20010, 0x10010, 0x10010};
    assert_stack(&stacks, 1, recursive, 3, "shop;Shop.Tax.Loop;Shop.Tax.Loop");
}

static void hostile_events_do_no_harm(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = new_code();
    struct sn_schema schemas[SN_UNIVERSAL_COUNT];
    sn_universal_schemas(schemas);
    unsigned seed = 3;
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[24];
        size_t size = (size_t)rand_r(&seed) % (sizeof(bytes) + 1);
        SN_AUTO(sn_free) uint8_t *cut = malloc(size + 1);
        for (size_t i = 0; i < size; i++)
            cut[i] = (uint8_t)(rand_r(&seed) % 3 ? rand_r(&seed) % 12 : rand_r(&seed));
        const struct sn_event event = {.schema = &schemas[rand_r(&seed) % SN_UNIVERSAL_COUNT],
                                       .time_ns = (uint64_t)rand_r(&seed) % 100,
                                       .pid = (uint32_t)rand_r(&seed) % 4,
                                       .pointer_size = 8,
                                       .payload = cut,
                                       .payload_size = (uint32_t)size};
        sn_code_take(code, &event);
        struct sn_place place =
            place_at(code, (uint32_t)rand_r(&seed) % 4, (uint64_t)rand_r(&seed) % 200, true, 50);
        assert_non_null(place.name);
        assert_non_null(place.module);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pid_used_again_is_another_process),
        cmocka_unit_test(a_rundown_from_before_a_process_is_that_of_its_last_program),
        cmocka_unit_test(the_next_program_with_a_pid_does_not_inherit_methods),
        cmocka_unit_test(a_later_mapping_hides_the_one_before),
        cmocka_unit_test(native_code_has_names_or_offsets),
        cmocka_unit_test(the_kernel_is_the_same_for_all),
        cmocka_unit_test(each_process_has_methods_of_its_own),
        cmocka_unit_test(processes_that_ended_can_be_forgotten),
        cmocka_unit_test(what_is_forgotten_makes_room),
        cmocka_unit_test(without_process_events_there_is_one_process),
        cmocka_unit_test(what_no_event_told_is_asked_for),
        cmocka_unit_test(stacks_go_from_the_process_to_the_kernel),
        cmocka_unit_test(a_method_replaced_while_it_ran_shows_once),
        cmocka_unit_test(hostile_events_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
