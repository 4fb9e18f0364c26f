/* What a name tells without being rewritten: TraceEvent's form of it, its namespace, whose it is,
 * and whether code of that name waits. */
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "symbol/names.h"

void sn_name_full(struct sn_buf *to, const char *type, const char *method, const char *signature)
{
    const char *arguments = strchr(signature, '(');
    sn_buf_text(to, type);
    sn_buf_u8(to, '.'); /* also behind no type at all */
    sn_buf_text(to, method);
    sn_buf_text(to, arguments ? arguments : "");
}

void sn_name_space(struct sn_buf *to, const char *type)
{
    size_t name_size = strcspn(type, "+[<`");
    const char *dot = memrchr(type, '.', name_size);
    if (dot)
        sn_buf_append(to, type, (size_t)(dot - type));
}

/* "System" and "System.Net" are of "System", "Systematic" is not. */
static bool is_of(const char *name, const char *space)
{
    size_t size = strlen(space);
    return strncmp(name, space, size) == 0 && (name[size] == '\0' || name[size] == '.');
}

bool sn_name_is_framework(const char *module, const char *name_space)
{
    return is_of(module, "System") || is_of(module, "Microsoft") || is_of(name_space, "System") ||
           is_of(name_space, "Microsoft") || strcmp(module, "mscorlib") == 0 ||
           strcmp(module, "netstandard") == 0;
}

/* The leaves that runtimes 8, 9 and 10 show of waiting threads (tests/interop/folded_test has each
 * of them), and their neighbours: which of a chain of calls is the leaf changes with inlining.
 * Where a call into the kernel is compiled into its caller, or goes through a stub without a name,
 * the caller stands for it. Some of these also work before they wait; how long, the kernel's CPU
 * times say. Not to be had by name: on 8 and 9 a thread that waits for a `lock` shows only its own
 * method. A star stands for any ending. */
struct fact {
    const char *type;
    const char *methods; /* separated and ended by spaces */
};

static const struct fact waiting[] = {
    {"System.Threading.Thread", "Sleep SleepInternal Join JoinInternal "},
    {"System.Threading.Monitor", "Wait ObjWait Enter Enter_Slowpath TryEnter TryEnter_Slowpath "
                                 "TryEnter_Timeout ReliableEnter ReliableEnterTimeout "},
    {"System.Threading.WaitHandle", "Wait* SignalAndWait* "},
    {"System.Threading.WaitSubsystem*", "Wait* SignalAndWait* Sleep* "},
    {"System.Threading.LowLevelLifoSemaphore", "Wait WaitNative WaitForSignal WaitCore "},
    {"System.Threading.LowLevelMonitor", "Wait WaitCore "},
    {"System.Threading.SemaphoreSlim", "Wait WaitCore WaitUntilCountOrTimeout "},
    {"System.Threading.ManualResetEventSlim", "Wait "},
    {"System.Threading.ReaderWriterLockSlim", "WaitOnEvent "},
    {"System.Diagnostics.ProcessWaitState", "WaitForExit "},
    {"System.IO.StdInReader", "ReadStdin ReadKey "},
    {"System.ConsolePal", "Read "},
    {"System.Net.Sockets.SocketAsyncEngine", "EventLoop "},
    {"System.Net.Sockets.SocketPal", "SelectViaPoll Poll "},
    {"Interop+Sys", "FLock Poll ReadStdin Select* WaitForSocketEvents* WaitForSignal* WaitPid* "},
    {0},
};

/* Leaves that wait for data or, when it is there, work in the kernel to copy it. */
static const struct fact moving_data[] = {
    {"System.IO.FileSystemWatcher+RunningInstance", "TryReadEvent "},
    {"System.IO.RandomAccess", "ReadAtOffset WriteAtOffset "},
    {"System.Net.Sockets.SocketPal",
     "SysReceive SysRead TryCompleteAccept TryCompleteReceiveFrom "},
    {"Interop+Sys", "Accept Connect GetHostEntryForName Read PRead* Receive* "},
    {0},
};

static bool matches(const char *pattern, size_t pattern_size, const char *name)
{
    if (pattern_size && pattern[pattern_size - 1] == '*')
        return strncmp(pattern, name, pattern_size - 1) == 0;
    return strlen(name) == pattern_size && memcmp(pattern, name, pattern_size) == 0;
}

static bool is_among(const char *methods, const char *method)
{
    for (const char *space; (space = strchr(methods, ' ')); methods = space + 1) {
        if (matches(methods, (size_t)(space - methods), method))
            return true;
    }
    return false;
}

static bool is_fact(const struct fact *facts, const char *type, const char *method)
{
    for (; facts->type; facts++) {
        if (matches(facts->type, strlen(facts->type), type) && is_among(facts->methods, method))
            return true;
    }
    return false;
}

bool sn_name_is_waiting(const char *type, const char *method)
{
    return is_fact(waiting, type, method) || is_fact(moving_data, type, method);
}

bool sn_name_is_moving_data(const char *type, const char *method)
{
    return is_fact(moving_data, type, method);
}

bool sn_name_is_stop(const char *type, const char *method)
{
    return strcmp(type, "System.Threading.Thread") == 0 &&
           (strcmp(method, "PollGC") == 0 || strncmp(method, "<PollGC>", strlen("<PollGC>")) == 0);
}
