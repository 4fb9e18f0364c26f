#include "model/kernel_report.h"

const char *sn_wait_reason_name(enum sn_wait_reason reason)
{
    static const char *const names[SN_WAIT_REASONS] = {
        [SN_WAIT_LOCK] = "lock or event",    [SN_WAIT_SLEEP] = "sleep",
        [SN_WAIT_POLL] = "network or poll",  [SN_WAIT_DISK] = "disk",
        [SN_WAIT_PIPE] = "pipe or terminal", [SN_WAIT_CHILD] = "process or signal",
        [SN_WAIT_IDLE] = "no work",          [SN_WAIT_GC] = "stopped for GC",
        [SN_WAIT_PREEMPTED] = "preempted",   [SN_WAIT_OTHER] = "other",
    };
    return reason < SN_WAIT_REASONS ? names[reason] : "other";
}
