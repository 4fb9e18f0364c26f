// Threads that know best what they spent: truth [seconds=3] [alone=0]
//
// An async loop that computes Fibonacci numbers and eight sleepers; unless they are to be alone, also a burner, one
// that compresses in native code, one that computes and sleeps in turn, and some in line for a lock. Each measures its own CPU time with the kernel's clock of its thread and prints it at the end:
//   cpu thread=<id> name=<name> ns=<nanoseconds>
using System.IO.Compression;
using System.Runtime.CompilerServices;

namespace Targets;

internal static class Truth
{
    private const int Sleepers = 8;
    private static readonly object s_gate = new();
    private static long s_sink;

    public static void Start(Stage stage)
    {
        stage.SetDefault("seconds", 3);
        if (stage.Number("alone", 0) == 0)
            StartOthers(stage);
        Measure(stage, "fibonacci", () => AwaitLoop(stage));
        for (int i = 0; i < Sleepers; i++)
            Measure(stage, $"sleeper-{i}", () => Every(stage, 250, () => { }));
    }

    private static void StartOthers(Stage stage)
    {
        Measure(stage, "managed", () => Every(stage, 0, Churn));
        Measure(stage, "native", () => Every(stage, 20, Compress));
        Measure(stage, "alternating", () => Every(stage, 20, Mix));
        Measure(stage, "holder", () => Every(stage, 5, HoldGate));
        for (int i = 0; i < 2; i++)
            Measure(stage, $"waiter-{i}", () => Every(stage, 5, EnterGate));
    }

    private static void Measure(Stage stage, string name, Action body) => stage.Spawn(name, () =>
    {
        body();
        ThreadClock.Say(name);
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

    /// <summary>The burner's own, so that no other thread computes in it; some milliseconds.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Churn()
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

    /// <summary>About five milliseconds, between sleeps of twenty.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Mix()
    {
        long state = s_sink;
        for (int i = 0; i < 4_000_000; i++)
            state = state * 33 + i;
        s_sink = state;
    }

    /// <summary>Nearly all of it in a library that is not managed.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Compress()
    {
        var input = new byte[1 << 16];
        new Random(1).NextBytes(input);
        BrotliEncoder.TryCompress(input, new byte[1 << 17], out int _, 9, 22);
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
            s_sink += await ComputeFibonacciAsync(29);
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
    }

    private static void EnterGate()
    {
        lock (s_gate)
            Thread.Sleep(1);
    }

    /// <summary>
    /// Runs what awaits continue with on one thread, so that it can know its CPU time. It waits without the spinning
    /// of the library's own queues, which is CPU time too.
    /// </summary>
    private sealed class Pump : SynchronizationContext
    {
        private readonly Queue<(SendOrPostCallback Callback, object? State)> _queue = [];

        public override void Post(SendOrPostCallback callback, object? state)
        {
            lock (_queue)
            {
                _queue.Enqueue((callback, state));
                Monitor.Pulse(_queue);
            }
        }

        public void RunUntil(Task done)
        {
            while (!done.IsCompleted)
            {
                (SendOrPostCallback callback, object? state) = Take();
                callback(state);
            }
        }

        private (SendOrPostCallback, object?) Take()
        {
            lock (_queue)
            {
                while (_queue.Count == 0)
                    Monitor.Wait(_queue);
                return _queue.Dequeue();
            }
        }
    }
}
