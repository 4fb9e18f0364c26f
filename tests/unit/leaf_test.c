/* Callers that libc's leaves lose: this process samples itself while known functions with frame
 * pointers call libc, and every chain has to say which of them it was. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "check.h"
#include "symbol/leaf.h"
#include "symbol/objects.h"
#include "unit/code_space.h"

#define RING_BYTES (1u << 20)
#define PAGE       4096u
#define CHAIN_MAX  127u
#define BURSTS_MAX 4000u
#define ENOUGH     400u /* samples in libc that a verdict needs */

/* --- the known chain: root calls one of these, which calls libc ------------------------------ */

static char from_bytes[1 << 16];
static char to_bytes[1 << 16];
static int zero_fd = -1;
static volatile size_t result;

__attribute__((noinline)) static void copies(void)
{
    for (int i = 0; i < 200; i++) {
        from_bytes[i] = (char)('a' + i % 20);
        memcpy(to_bytes, from_bytes, sizeof(to_bytes) - (size_t)i);
    }
}

__attribute__((noinline)) static void allocates(void)
{
    void *kept[16] = {NULL};
    for (int i = 0; i < 3000; i++) {
        free(kept[i % 16]);
        kept[i % 16] = malloc((size_t)(16 + i % 2000));
        result += (size_t)kept[i % 16];
    }
    for (int i = 0; i < 16; i++)
        free(kept[i]);
}

__attribute__((noinline)) static void reads(void)
{
    for (int i = 0; i < 500; i++)
        result += (size_t)pread(zero_fd, to_bytes, 512, 0);
}

__attribute__((noinline)) static void prints(void)
{
    for (int i = 0; i < 1500; i++)
        result += (size_t)snprintf(to_bytes, 100, "%d %s", i, "text");
}

__attribute__((noinline)) static void scans(void)
{
    memset(from_bytes, 'x', sizeof(from_bytes) - 1);
    for (int i = 0; i < 200; i++) {
        from_bytes[0] = (char)('a' + i % 20);
        result += strlen(from_bytes) + (size_t)(strchr(from_bytes, 'q') != NULL);
    }
}

typedef void work_fn(void);

/* The parts of printf have frames of a kilobyte and more, and use rbp: its callers are not to be
 * known, and must not be guessed. */
static const struct {
    work_fn *run;
    const char *name;
    unsigned right_percent; /* at least */
} works[] = {{copies, "copies", 99},
             {allocates, "allocates", 95},
             {reads, "reads", 99},
             {scans, "scans", 99},
             {prints, "prints", 0}};

#define WORK_COUNT (sizeof(works) / sizeof(works[0]))

__attribute__((noinline)) static void root_of_all(size_t which)
{
    works[which].run();
    result++;
}

/* --- the sampler ------------------------------------------------------------------------------ */

struct sampler {
    int fd;
    struct perf_event_mmap_page *page;
    uint8_t *copy; /* RING_BYTES */
};

static int open_event(bool with_kernel)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .freq = 1,
        .sample_freq = 4000,
        .sample_type =
            PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .sample_regs_user = 1u << 6 | 1u << 7 | 1u << 8, /* BP, SP, IP */
        .sample_stack_user = SN_LEAF_STACK_BYTES,
        .exclude_callchain_kernel = 1,
        .exclude_kernel = !with_kernel,
        .disabled = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool open_sampler(struct sampler *sampler)
{
    sampler->fd = open_event(true);
    if (sampler->fd < 0)
        sampler->fd = open_event(false);
    if (sampler->fd < 0)
        return false;
    void *ring = mmap(NULL, PAGE + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, sampler->fd, 0);
    if (ring == MAP_FAILED) {
        (void)close(sampler->fd);
        return false;
    }
    sampler->page = ring;
    sampler->copy = malloc(RING_BYTES);
    assert_non_null(sampler->copy);
    return true;
}

/* What has come since the last time, in one piece. The event is off meanwhile. */
static struct sn_cursor drain(struct sampler *sampler)
{
    uint64_t head = __atomic_load_n(&sampler->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = sampler->page->data_tail;
    const uint8_t *data = (const uint8_t *)sampler->page + PAGE;
    for (uint64_t at = tail; at < head; at++)
        sampler->copy[at - tail] = data[at % RING_BYTES];
    __atomic_store_n(&sampler->page->data_tail, head, __ATOMIC_RELEASE);
    return sn_cursor_over(sampler->copy, (size_t)(head - tail));
}

/* --- the verdict ------------------------------------------------------------------------------ */

struct verdict {
    struct sn_leaf *leaf;
    struct sn_objects *objects;
    struct code_space *space;
    unsigned in_libc;
    unsigned right;   /* the first caller outside libc is the function that ran */
    unsigned wrong;   /* it is another */
    unsigned unknown; /* it is said to be unknown, or the chain is cut before it */
};

/* The function of this program at a return address, or "". */
static const char *own_function(const struct verdict *verdict, uint64_t address)
{
    const struct code_mapping *item = code_space_find(verdict->space, address - 1);
    struct sn_object_symbol symbol;
    if (!item || !item->is_program ||
        !sn_objects_symbol(verdict->objects, item->object,
                           sn_objects_vaddr(verdict->objects, item->object,
                                            address - 1 - item->start + item->offset),
                           &symbol))
        return "";
    return symbol.name;
}

static void judge(struct verdict *verdict, const char *expected, const uint64_t *chain,
                  size_t count)
{
    const struct code_mapping *at = code_space_find(verdict->space, chain[0]);
    if (!at || !at->is_libc)
        return;
    size_t i = 1;
    for (; i < count && (at = code_space_find(verdict->space, chain[i] - 1)) && at->is_libc; i++)
        ;
    if (i < count && strcmp(own_function(verdict, chain[i]), "run_work") == 0)
        return; /* the sampler being switched on or off */
    verdict->in_libc++;
    if (i == count || chain[i] == SN_LEAF_UNKNOWN) {
        verdict->unknown++;
        return;
    }
    bool is_right = strcmp(own_function(verdict, chain[i]), expected) == 0;
    verdict->right += is_right;
    verdict->wrong += !is_right;
    if (is_right && i + 1 < count) /* a chain that goes on does so without a gap */
        assert_string_equal(own_function(verdict, chain[i + 1]), "root_of_all");
}

static void take_sample(struct verdict *verdict, const char *expected, struct sn_cursor *cur)
{
    uint64_t chain[CHAIN_MAX + SN_LEAF_MORE];
    size_t count = 0;
    struct sn_leaf_sample sample = {.locate = code_space_locate, .user = verdict->space};
    (void)sn_cursor_u64(cur); /* ip: in the kernel, perhaps */
    for (uint64_t left = sn_cursor_u64(cur); left; left--) {
        uint64_t address = sn_cursor_u64(cur);
        if (address < (uint64_t)-4095 && count < CHAIN_MAX)
            chain[count++] = address;
    }
    if (!sn_cursor_u64(cur)) /* the registers' kind: none */
        return;
    sample.bp = sn_cursor_u64(cur);
    sample.sp = sn_cursor_u64(cur);
    sample.ip = sn_cursor_u64(cur);
    uint64_t room = sn_cursor_u64(cur);
    sample.stack = sn_cursor_bytes(cur, (size_t)room);
    sample.stack_size = room ? (size_t)sn_cursor_u64(cur) : 0;
    assert_false(cur->bad);
    struct sn_leaf_result fixed = sn_leaf_repair(verdict->leaf, &sample, chain, count);
    judge(verdict, expected, chain, fixed.count);
}

static void take_records(struct verdict *verdict, const char *expected, struct sn_cursor all)
{
    while (sn_cursor_left(&all) >= sizeof(struct perf_event_header)) {
        uint32_t type = sn_cursor_u32(&all);
        (void)sn_cursor_u16(&all); /* misc */
        size_t size = sn_cursor_u16(&all) - sizeof(struct perf_event_header);
        const uint8_t *body = sn_cursor_bytes(&all, size);
        struct sn_cursor cur = sn_cursor_over(body, body ? size : 0);
        if (type == PERF_RECORD_SAMPLE)
            take_sample(verdict, expected, &cur);
    }
}

__attribute__((noinline)) static void run_work(struct verdict *verdict, struct sampler *sampler,
                                               size_t which)
{
    assert_int_equal(ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0), 0);
    root_of_all(which);
    assert_int_equal(ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0), 0);
    take_records(verdict, works[which].name, drain(sampler));
}

static void check_work(struct verdict *verdict, struct sampler *sampler, size_t which)
{
    verdict->in_libc = verdict->right = verdict->wrong = verdict->unknown = 0;
    for (unsigned i = 0; i < BURSTS_MAX && verdict->in_libc < ENOUGH; i++)
        run_work(verdict, sampler, which);
    print_message("%s: %u in libc, %u right, %u unknown, %u wrong\n", works[which].name,
                  verdict->in_libc, verdict->right, verdict->unknown, verdict->wrong);
    assert_true(verdict->in_libc >= ENOUGH);
    assert_int_equal(verdict->wrong, 0);
    assert_true(verdict->right * 100 >= verdict->in_libc * works[which].right_percent);
}

/* The first instruction of a libc function: its caller is the word at the stack pointer. */
struct entry {
    struct sn_objects *objects;
    struct sn_leaf *leaf;
    struct code_space space;
    uint64_t stack[8];
    struct sn_leaf_sample sample;
    uint64_t chain[8 + SN_LEAF_MORE];
};

static uint64_t own_code; /* a return address in this program */

__attribute__((noinline)) static void note_caller(void)
{
    own_code = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static void enter(struct entry *entry)
{
    memset(entry, 0, sizeof(*entry));
    note_caller();
    assert_int_equal(sn_objects_new(&entry->objects, NULL), SONDE_OK);
    assert_int_equal(sn_leaf_new(entry->objects, &entry->leaf, NULL), SONDE_OK);
    assert_true(code_space_read(&entry->space, (uint32_t)getpid(), entry->objects));
    entry->stack[0] = own_code;
    entry->sample = (struct sn_leaf_sample){
        .ip = (uint64_t)(uintptr_t)getppid,
        .sp = 0x10000,
        .bp = 0x10020,
        .stack = (const uint8_t *)entry->stack,
        .stack_size = sizeof(entry->stack),
        .locate = code_space_locate,
        .user = &entry->space,
    };
    assert_true(code_space_find(&entry->space, entry->sample.ip)->is_libc);
    entry->chain[0] = entry->sample.ip;
    entry->chain[1] = own_code + 1;
    entry->chain[2] = own_code + 2;
}

static void leave(struct entry *entry)
{
    sn_leaf_free(entry->leaf);
    sn_objects_free(entry->objects);
}

static void a_skipped_caller_is_put_in(void **state)
{
    (void)state;
    struct entry entry;
    enter(&entry);
    struct sn_leaf_result fixed = sn_leaf_repair(entry.leaf, &entry.sample, entry.chain, 3);
    assert_int_equal(fixed.count, 4);
    assert_int_equal(fixed.found, 1);
    assert_false(fixed.is_cut || fixed.has_unknown);
    assert_int_equal(entry.chain[1], own_code);
    assert_int_equal(entry.chain[3], own_code + 2);
    leave(&entry);
}

static void a_function_that_calls_itself_loses_no_level(void **state)
{
    (void)state;
    struct entry entry;
    enter(&entry);
    entry.chain[1] = entry.chain[2] = own_code;
    assert_int_equal(sn_leaf_repair(entry.leaf, &entry.sample, entry.chain, 3).count, 4);
    leave(&entry);
}

static void a_caller_that_is_there_already_stays_alone(void **state)
{
    (void)state;
    struct entry entry;
    enter(&entry);
    entry.sample.bp = entry.sample.sp - 8; /* so that rbp led to the same return address */
    entry.chain[1] = own_code;
    struct sn_leaf_result fixed = sn_leaf_repair(entry.leaf, &entry.sample, entry.chain, 3);
    assert_int_equal(fixed.count, 3);
    assert_int_equal(fixed.found, 0);
    leave(&entry);
}

static void a_caller_beyond_the_bytes_is_said_to_be_unknown(void **state)
{
    (void)state;
    struct entry entry;
    for (size_t size = 0; size < 8; size++) {
        enter(&entry);
        entry.sample.stack_size = size;
        struct sn_leaf_result fixed = sn_leaf_repair(entry.leaf, &entry.sample, entry.chain, 3);
        assert_int_equal(fixed.count, 4);
        assert_true(fixed.has_unknown);
        assert_int_equal(entry.chain[1], SN_LEAF_UNKNOWN);
        assert_int_equal(entry.chain[2], own_code + 1);
        leave(&entry);
    }
}

static void a_chain_that_leads_out_of_code_is_cut_there(void **state)
{
    (void)state;
    struct entry entry;
    enter(&entry);
    entry.chain[2] = 0x20;
    struct sn_leaf_result fixed = sn_leaf_repair(entry.leaf, &entry.sample, entry.chain, 3);
    assert_int_equal(fixed.count, 3);
    assert_true(fixed.is_cut);
    assert_int_equal(entry.chain[2], own_code + 1);
    leave(&entry);
}

static void a_frame_pointer_below_the_stack_is_no_chain(void **state)
{
    (void)state;
    struct entry entry;
    enter(&entry);
    entry.sample.bp = 0x1000;
    struct sn_leaf_result fixed = sn_leaf_repair(entry.leaf, &entry.sample, entry.chain, 3);
    assert_int_equal(fixed.count, 2);
    assert_true(fixed.is_cut);
    assert_int_equal(entry.chain[1], own_code);
    leave(&entry);
}

/* Its call never comes back: it returns to where the next function begins, whose rule is another.
 */
__asm__(".text\n"
        ".cfi_startproc\n"
        "sub $16, %rsp\n"
        ".cfi_adjust_cfa_offset 16\n"
        "call abort@plt\n"
        ".cfi_endproc\n"
        "behind_the_call:\n"
        ".cfi_startproc\n"
        "ret\n"
        ".cfi_endproc\n");
extern const char behind_the_call[];

static void a_caller_that_ends_with_its_call_has_its_own_rule(void **state)
{
    (void)state;
    struct entry entry;
    enter(&entry);
    entry.stack[0] = (uint64_t)(uintptr_t)behind_the_call;
    entry.stack[3] = own_code;
    struct sn_leaf_result fixed = sn_leaf_repair(entry.leaf, &entry.sample, entry.chain, 3);
    assert_int_equal(fixed.count, 5);
    assert_int_equal(fixed.found, 2);
    assert_false(fixed.is_cut || fixed.has_unknown);
    assert_int_equal(entry.chain[1], (uint64_t)(uintptr_t)behind_the_call);
    assert_int_equal(entry.chain[2], own_code);
    leave(&entry);
}

/* Code without a frame of its own in the middle of a chain, called from another object. */
static void enter_gap(struct entry *entry)
{
    enter(entry);
    entry->sample.bp = entry->sample.sp + 16;
    entry->stack[2] = entry->sample.sp + 48; /* rbp, as own_code's caller left it */
    entry->chain[1] = entry->stack[3] = (uint64_t)(uintptr_t)getppid + 1;
    entry->stack[4] = own_code + 1; /* to where that one returns */
    entry->chain[2] = entry->stack[7] = own_code + 2;
}

static void a_caller_that_was_skipped_further_up_is_put_in(void **state)
{
    (void)state;
    struct entry entry;
    enter_gap(&entry);
    struct sn_leaf_result fixed = sn_leaf_repair(entry.leaf, &entry.sample, entry.chain, 3);
    assert_int_equal(fixed.count, 5);
    assert_int_equal(fixed.found, 2);
    assert_false(fixed.is_cut || fixed.has_unknown);
    assert_int_equal(entry.chain[1], own_code);
    assert_int_equal(entry.chain[2], (uint64_t)(uintptr_t)getppid + 1);
    assert_int_equal(entry.chain[3], own_code + 1);
    assert_int_equal(entry.chain[4], own_code + 2);
    leave(&entry);
}

static void what_is_skipped_beyond_the_bytes_stays_so(void **state)
{
    (void)state;
    struct entry entry;
    for (size_t size = 8; size < 5 * sizeof(uint64_t); size++) {
        enter_gap(&entry);
        entry.sample.stack_size = size;
        struct sn_leaf_result fixed = sn_leaf_repair(entry.leaf, &entry.sample, entry.chain, 3);
        assert_int_equal(fixed.count, 4);
        assert_int_equal(entry.chain[3], own_code + 2);
        leave(&entry);
    }
}

static void what_is_no_code_is_not_put_in(void **state)
{
    (void)state;
    struct entry entry;
    enter_gap(&entry);
    entry.stack[4] = 0x20;
    struct sn_leaf_result fixed = sn_leaf_repair(entry.leaf, &entry.sample, entry.chain, 3);
    assert_int_equal(fixed.count, 4);
    assert_false(fixed.is_cut);
    leave(&entry);
}

static void leaves_in_libc_get_their_callers_back(void **state)
{
    (void)state;
    struct sampler sampler = {0};
    struct code_space space = {0};
#ifdef __SANITIZE_ADDRESS__
    skip_because("the sanitizer has memory functions of its own");
#endif
    if (!open_sampler(&sampler))
        skip_because("no samples of this process");
    zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_true(zero_fd >= 0);
    for (size_t i = 0; i < WORK_COUNT; i++)
        root_of_all(i); /* binds what the loader leaves for later */
    struct verdict verdict = {.space = &space};
    assert_int_equal(sn_objects_new(&verdict.objects, NULL), SONDE_OK);
    assert_int_equal(sn_leaf_new(verdict.objects, &verdict.leaf, NULL), SONDE_OK);
    assert_true(code_space_read(&space, (uint32_t)getpid(), verdict.objects));
    for (size_t i = 0; i < WORK_COUNT; i++)
        check_work(&verdict, &sampler, i);
    sn_leaf_free(verdict.leaf);
    sn_objects_free(verdict.objects);
    free(sampler.copy);
    (void)munmap(sampler.page, PAGE + RING_BYTES);
    (void)close(sampler.fd);
    (void)close(zero_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_skipped_caller_is_put_in),
        cmocka_unit_test(a_function_that_calls_itself_loses_no_level),
        cmocka_unit_test(a_caller_that_is_there_already_stays_alone),
        cmocka_unit_test(a_caller_beyond_the_bytes_is_said_to_be_unknown),
        cmocka_unit_test(a_chain_that_leads_out_of_code_is_cut_there),
        cmocka_unit_test(a_frame_pointer_below_the_stack_is_no_chain),
        cmocka_unit_test(a_caller_that_ends_with_its_call_has_its_own_rule),
        cmocka_unit_test(a_caller_that_was_skipped_further_up_is_put_in),
        cmocka_unit_test(what_is_skipped_beyond_the_bytes_stays_so),
        cmocka_unit_test(what_is_no_code_is_not_put_in),
        cmocka_unit_test(leaves_in_libc_get_their_callers_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
