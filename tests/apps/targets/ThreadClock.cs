// What the kernel knows of the calling thread: its number, and how long it has run.
using System.Runtime.InteropServices;

namespace Targets;

internal static class ThreadClock
{
    private const int ThreadCpuTime = 3; // CLOCK_THREAD_CPUTIME_ID

    /// <summary>CPU time of the calling thread, in nanoseconds.</summary>
    public static long Now
    {
        get
        {
            _ = ReadClock(ThreadCpuTime, out TimeSpec spent);
            return spent.Seconds * 1_000_000_000 + spent.Nanoseconds;
        }
    }

    [DllImport("libc", EntryPoint = "gettid")]
    public static extern int GetThreadId();

    /// <summary>Says what the calling thread ran since it began.</summary>
    public static void Say(string name) => Stage.Say($"cpu thread={GetThreadId()} name={name} ns={Now}");

    private struct TimeSpec
    {
        public long Seconds;
        public long Nanoseconds;
    }

    [DllImport("libc", EntryPoint = "clock_gettime")]
    private static extern int ReadClock(int clock, out TimeSpec time);
}
