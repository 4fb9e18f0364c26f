/* Why threads wait, told by their stacks; and what a process is called. */
#include "check.h"

#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "model/profile.h"
#include "sink/aggregate/wait_reasons.h"
#include "symbol/code.h"
#include "symbol/process_label.h"
#include "universal_bytes.h"

/* Frames from the caller to the leaf: managed ones have a dot in them, those of the kernel begin
 * with "k:", a role of the runtime with a bracket. */
static uint32_t stack_of(struct sn_profile *profile, const char *const *names)
{
    uint32_t node = 0;
    for (; *names; names++) {
        bool is_kernel = strncmp(*names, "k:", 2) == 0;
        const char *name = is_kernel ? *names + 2 : *names;
        const struct sn_frame frame = {.name = name,
                                       .full_name = name,
                                       .module = "",
                                       .name_space = "",
                                       .kind = is_kernel           ? SN_FRAME_KERNEL
                                               : name[0] == '['    ? SN_FRAME_RUNTIME
                                               : strchr(name, '.') ? SN_FRAME_MANAGED
                                                                   : SN_FRAME_NATIVE};
        node = sn_profile_node(profile, node, sn_profile_frame(profile, &frame));
    }
    return node;
}

struct known {
    const char *names[8];
    enum sn_off_reason told;
    enum sn_wait_reason reason;
    const char *place; /* where it waits; NULL: as the leaf */
};

static const struct known stacks[] = {
    {{"Shop.Orders.Place", "pthread_cond_wait", "k:do_futex", "k:futex_wait", "k:schedule"},
     SN_OFF_SLEEPING,
     SN_WAIT_LOCK,
     "futex_wait"},
    {{"System.Threading.Thread.Sleep", "pthread_cond_timedwait", "k:futex_wait", "k:__schedule"},
     SN_OFF_SLEEPING,
     SN_WAIT_SLEEP,
     "futex_wait"},
    {{"Shop.Main", "usleep", "k:hrtimer_nanosleep", "k:do_nanosleep", "k:schedule"},
     SN_OFF_SLEEPING,
     SN_WAIT_SLEEP,
     "do_nanosleep"},
    {{"System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart",
      "System.Threading.LowLevelLifoSemaphore.WaitNative", "k:futex_wait"},
     SN_OFF_SLEEPING,
     SN_WAIT_IDLE,
     NULL},
    {{"[runtime: finalizers]", "libcoreclr", "k:futex_wait"}, SN_OFF_SLEEPING, SN_WAIT_IDLE, NULL},
    {{"[runtime: finalizers]", "Shop.Cache.Finalize", "k:futex_wait"},
     SN_OFF_SLEEPING,
     SN_WAIT_LOCK,
     NULL},
    {{"main", "epoll_wait", "k:do_epoll_wait", "k:ep_poll", "k:schedule_hrtimeout_range"},
     SN_OFF_SLEEPING,
     SN_WAIT_POLL,
     "ep_poll"},
    {{"main", "read", "k:vfs_read", "k:pipe_read", "k:schedule"},
     SN_OFF_SLEEPING,
     SN_WAIT_PIPE,
     "pipe_read"},
    {{"main", "read", "k:filemap_read", "k:folio_wait_bit_common", "k:io_schedule"},
     SN_OFF_DISK,
     SN_WAIT_DISK,
     "folio_wait_bit_common"},
    {{"main", "mmap", "k:down_write_killable", "k:rwsem_down_write_slowpath", "k:schedule"},
     SN_OFF_DISK,
     SN_WAIT_LOCK,
     "rwsem_down_write_slowpath"},
    {{"main", "wait4", "k:kernel_wait4", "k:do_wait", "k:schedule"},
     SN_OFF_SLEEPING,
     SN_WAIT_CHILD,
     "do_wait"},
    {{"Shop.Tax.Compute", "k:irqentry_exit", "k:schedule"},
     SN_OFF_PREEMPTED,
     SN_WAIT_PREEMPTED,
     "irqentry_exit"},
    {{"main", "nothing_known"}, SN_OFF_SLEEPING, SN_WAIT_OTHER, NULL},
    {{NULL}, SN_OFF_UNKNOWN, SN_WAIT_OTHER, NULL},
};

static void stacks_tell_the_reason(void **state)
{
    (void)state;
    static const struct sn_column column = {"time", SN_UNIT_NS};
    for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
        SN_AUTO(sn_profile_free) struct sn_profile *profile = NULL;
        assert_int_equal(sn_profile_new(&column, 1, &profile, NULL), 0);
        uint32_t node = stack_of(profile, stacks[i].names);
        assert_int_equal(sn_wait_reason_of(profile, node, stacks[i].told), stacks[i].reason);
        uint32_t place = sn_wait_place(profile, node);
        if (!stacks[i].place)
            assert_int_equal(place, node);
        else
            assert_string_equal(profile->frames[profile->nodes[place].frame].name, stacks[i].place);
    }
}

static void give(void *to, const struct sn_event *event)
{
    sn_code_take(to, event);
}

static void tell(struct sn_code *code, uint32_t pid, const char *name, const char *command,
                 enum sn_process_kind kind)
{
    const struct universal_event process = {
        .kind = SN_UNIVERSAL_EXISTING_PROCESS, .pid = pid, .texts = {name}};
    const struct universal_event facts = {.kind = SN_UNIVERSAL_PROCESS_FACTS,
                                          .pid = pid,
                                          .numbers = {pid, 1, 0, 0, kind},
                                          .texts = {"", command}};
    send_universal(&process, give, code);
    send_universal(&facts, give, code);
}

static void assert_label(const struct sn_code *code, uint32_t pid, const char *expected)
{
    SN_AUTO(sn_buf_done) struct sn_buf label = sn_buf_with_limit(1024);
    sn_process_label(&label, code, sn_code_process(code, pid, 1));
    assert_string_equal(sn_buf_string(&label), expected);
}

static void processes_are_called_what_people_call_them(void **state)
{
    (void)state;
    SN_AUTO(sn_code_free) struct sn_code *code = NULL;
    assert_int_equal(sn_code_new(&code, NULL), 0);
    tell(code, 1, "dotnet", "/usr/bin/dotnet exec /srv/Shop.Web.dll --urls x", SN_PROCESS_DOTNET);
    tell(code, 2, "worker", "/srv/worker", SN_PROCESS_DOTNET);
    tell(code, 3, "worker", "/srv/worker", SN_PROCESS_DOTNET);
    tell(code, 4, "sh", "sh -c x", SN_PROCESS_NATIVE);
    tell(code, 5, "sh", "sh -c y", SN_PROCESS_NATIVE);
    tell(code, 6, "kworker/0:1-eve", "", SN_PROCESS_NATIVE);
    tell(code, 7, "a-rather-long-n", "/bin/a-rather-long-name --x", SN_PROCESS_NATIVE);
    tell(code, 8, "", "", SN_PROCESS_NATIVE);
    tell(code, 9, "dotnet", "dotnet build", SN_PROCESS_DOTNET);
    assert_label(code, 1, "Shop.Web");
    assert_label(code, 2, "worker (2)");
    assert_label(code, 3, "worker (3)");
    assert_label(code, 5, "sh");
    assert_label(code, 6, "kworker");
    assert_label(code, 7, "a-rather-long-name");
    assert_label(code, 8, "process 8");
    assert_label(code, 9, "dotnet");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_tell_the_reason),
        cmocka_unit_test(processes_are_called_what_people_call_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
