// Threads that know where their time goes, on a CPU and off it: shares [seconds=4]
//
// Some compute, in managed code, in a native library or in the kernel; some wait, asleep, for a lock or for a pipe; one
// makes garbage. All of them together want less than two CPUs. At the end each says what it ran, and those that wait also how
// long they did, by the clocks around what blocks:
//   cpu thread=<id> name=<name> ns=<nanoseconds>
//   wait thread=<id> name=<name> ns=<nanoseconds>
//   pause ns=<nanoseconds that all threads stood still for the garbage collector>
using System.Diagnostics;
using System.IO.Compression;
using System.IO.Pipes;
using System.Runtime.CompilerServices;

namespace Targets;

internal static class Shares
{
    private static readonly object s_gate = new();
    private static long s_sink;

    public static void Start(Stage stage)
    {
        stage.SetDefault("seconds", 4);
        stage.AtEnd(() => Stage.Say($"pause ns={GC.GetTotalPauseDuration().Ticks * 100}"));
        Work(stage, "managed", 10, ComputeInManagedCode);
        Work(stage, "native", 30, ComputeInLibrary);
        Work(stage, "kernel", 20, ComputeInKernel);
        Work(stage, "garbage", 20, MakeGarbage);
        Work(stage, "holder", 10, HoldGate);
        Wait(stage, "sleeper", () => Thread.Sleep(25));
        Wait(stage, "locker", EnterGate);
        StartPipe(stage);
    }

    private static void Work(Stage stage, string name, int pause, Action step) => stage.Spawn(name, () =>
    {
        while (!stage.IsStopping)
        {
            step();
            Thread.Sleep(pause);
        }
        ThreadClock.Say(name);
    });

    /// <summary>A thread whose step does nothing but wait.</summary>
    private static void Wait(Stage stage, string name, Action step) => stage.Spawn(name, () =>
    {
        long waited = 0;
        while (!stage.IsStopping)
            waited += WaitOf(step);
        Stage.Say($"wait thread={ThreadClock.GetThreadId()} name={name} ns={waited}");
        ThreadClock.Say(name);
    });

    private static long WaitOf(Action step)
    {
        long ran = ThreadClock.Now;
        long start = Stopwatch.GetTimestamp();
        step();
        long took = (long)(Stopwatch.GetElapsedTime(start).TotalNanoseconds);
        return took - (ThreadClock.Now - ran);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ComputeInManagedCode()
    {
        ulong state = 88172645463325252;
        for (int i = 0; i < 2_000_000; i++)
        {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        s_sink += (long)state;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ComputeInLibrary()
    {
        var input = new byte[1 << 15];
        new Random(1).NextBytes(input);
        BrotliEncoder.TryCompress(input, new byte[1 << 16], out int _, 9, 22);
    }

    private static readonly byte[] s_zeros = new byte[8 << 20];

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ComputeInKernel()
    {
        using FileStream zero = new("/dev/zero", FileMode.Open, FileAccess.Read, FileShare.Read, 0);
        for (int i = 0; i < 4; i++)
            s_sink += zero.Read(s_zeros);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void MakeGarbage()
    {
        var kept = new List<byte[]>();
        for (int i = 0; i < 20_000; i++)
            kept.Add(new byte[100]);
        s_sink += kept.Count;
    }

    private static void HoldGate()
    {
        lock (s_gate)
            Thread.Sleep(30);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void EnterGate()
    {
        Monitor.Enter(s_gate);
        Monitor.Exit(s_gate);
        Thread.Sleep(0);
    }

    private static void StartPipe(Stage stage)
    {
        var output = new AnonymousPipeServerStream(PipeDirection.Out);
        var input = new AnonymousPipeClientStream(PipeDirection.In, output.ClientSafePipeHandle);
        stage.Spawn("writer", () =>
        {
            while (!stage.IsStopping)
            {
                Thread.Sleep(40);
                output.WriteByte(1);
            }
            output.Dispose();
            ThreadClock.Say("writer");
        });
        Wait(stage, "reader", () => s_sink += input.ReadByte());
    }
}
