// Threads that know best what they spent: truth [seconds=3]
//
// Each measures its own CPU time with the kernel's clock of its thread and prints it at the end:
//   cpu thread=<id> name=<name> ns=<nanoseconds>
using System.IO.Compression;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Targets;

internal static class Truth
{
    private const int Sleepers = 8;
    private static readonly object s_gate = new();
    private static long s_sink;

    public static void Start(Stage stage)
    {
        stage.SetDefault("seconds", 3);
        Measure(stage, "managed", () => Every(stage, 0, () => Spin(5)));
        Measure(stage, "native", () => Every(stage, 0, Compress));
        Measure(stage, "alternating", () => Every(stage, 20, () => Alternate(5)));
        Measure(stage, "fibonacci", () => AwaitLoop(stage));
        Measure(stage, "holder", () => Every(stage, 0, HoldGate));
        for (int i = 0; i < 2; i++)
            Measure(stage, $"waiter-{i}", () => Every(stage, 0, EnterGate));
        for (int i = 0; i < Sleepers; i++)
            Measure(stage, $"sleeper-{i}", () => Every(stage, 30, () => { }));
    }

    private static void Measure(Stage stage, string name, Action body) => stage.Spawn(name, () =>
    {
        body();
        ReadClock(ThreadClock, out TimeSpec spent);
        Stage.Say($"cpu thread={GetThreadId()} name={name} ns={spent.Seconds * 1_000_000_000 + spent.Nanoseconds}");
    });

    private static void Every(Stage stage, int sleep, Action step)
    {
        while (!stage.IsStopping)
        {
            step();
            if (sleep > 0)
                Thread.Sleep(sleep);
        }
    }

    private static void Spin(int milliseconds)
    {
        for (long end = Environment.TickCount64 + milliseconds; Environment.TickCount64 < end;)
            Churn();
    }

    /// <summary>The burner's own, so that no other thread computes in it.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Churn()
    {
        for (int i = 0; i < 20_000; i++)
            s_sink = s_sink * 31 + i;
    }

    private static void Alternate(int milliseconds)
    {
        for (long end = Environment.TickCount64 + milliseconds; Environment.TickCount64 < end;)
            Mix();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Mix()
    {
        for (int i = 0; i < 20_000; i++)
            s_sink = s_sink * 33 + i;
    }

    /// <summary>Nearly all of it in a library that is not managed.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Compress()
    {
        var input = new byte[1 << 16];
        new Random(1).NextBytes(input);
        Array.ForEach(new int[4], _ => BrotliEncoder.TryCompress(input, new byte[1 << 17], out int _, 9, 22));
    }

    /// <summary>Between awaits it goes on wherever the pump takes it: here always to its own thread.</summary>
    private static void AwaitLoop(Stage stage)
    {
        var pump = new Pump();
        SynchronizationContext.SetSynchronizationContext(pump);
        pump.RunUntil(ComputeAsync(stage));
    }

    private static async Task ComputeAsync(Stage stage)
    {
        while (!stage.IsStopping)
        {
            s_sink += await ComputeFibonacciAsync(24);
            await Task.Delay(10);
        }
    }

    private static async Task<long> ComputeFibonacciAsync(int n)
    {
        await Task.Yield();
        return Fibonacci(n);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Fibonacci(int n) => n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2);

    private static void HoldGate()
    {
        lock (s_gate)
            Thread.Sleep(20);
        Thread.Sleep(5);
    }

    private static void EnterGate()
    {
        lock (s_gate)
            Thread.Sleep(1);
        Thread.Sleep(5);
    }

    /// <summary>Runs what awaits continue with on one thread, so that it can know its CPU time.</summary>
    private sealed class Pump : SynchronizationContext
    {
        private readonly System.Collections.Concurrent.BlockingCollection<Action> _queue = [];

        public override void Post(SendOrPostCallback callback, object? state) => _queue.Add(() => callback(state));

        public void RunUntil(Task done)
        {
            done.ContinueWith(_ => _queue.CompleteAdding(), TaskScheduler.Default);
            foreach (Action next in _queue.GetConsumingEnumerable())
                next();
        }
    }

    private const int ThreadClock = 3; // CLOCK_THREAD_CPUTIME_ID

    private struct TimeSpec
    {
        public long Seconds;
        public long Nanoseconds;
    }

    [DllImport("libc", EntryPoint = "clock_gettime")]
    private static extern int ReadClock(int clock, out TimeSpec time);

    [DllImport("libc", EntryPoint = "gettid")]
    private static extern int GetThreadId();
}
