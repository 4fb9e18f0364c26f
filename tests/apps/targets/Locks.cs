// Threads in each other's way: locks [threads=3] [pause=5]
namespace Targets;

internal static class Locks
{
    private static readonly object s_gate = new();
    private static readonly object s_bell = new();
    private static readonly SemaphoreSlim s_seats = new(1);
    private static readonly AutoResetEvent s_signal = new(false);
    private static long s_counter;

    public static void Start(Stage stage)
    {
        int pause = stage.Number("pause", 5);

        for (int i = 0; i < stage.Number("threads", 3); i++)
            stage.Repeat($"lock-{i}", 1, _ => Contend());
        stage.Repeat("pulse", pause, _ => Pulse());
        stage.Repeat("waiter", 1, _ => AwaitPulse());
        stage.Repeat("short-lived", pause * 10, _ => StartAndJoinThread());
        stage.Repeat("starve", pause * 100, _ => BlockPool());
        stage.Repeat("async", pause * 2, _ => Task.WhenAll(Hop(0), Hop(1), Hop(2)).Wait());
        StartTimer(stage, pause * 4);
    }

    /// <summary>Held longer than a spin lasts, so that the others come to wait.</summary>
    private static void Contend()
    {
        lock (s_gate)
        {
            s_counter++;
            Thread.Sleep(2);
        }
    }

    private static void Pulse()
    {
        lock (s_bell)
            Monitor.PulseAll(s_bell);
        s_signal.Set();
    }

    private static void AwaitPulse()
    {
        lock (s_bell)
            Monitor.Wait(s_bell, 20);
        s_signal.WaitOne(20);
    }

    private static void StartAndJoinThread()
    {
        var thread = new Thread(() => Thread.Sleep(5)) { Name = "short-lived child" };
        thread.Start();
        thread.Join();
    }

    /// <summary>More blocking items than the pool has threads, so that it adds some.</summary>
    private static void BlockPool()
    {
        using var left = new CountdownEvent(Environment.ProcessorCount * 2);
        for (int i = left.InitialCount; i > 0; i--)
            ThreadPool.QueueUserWorkItem(_ =>
            {
                Thread.Sleep(50);
                left.Signal();
            });
        left.Wait();
    }

    private static async Task Hop(int order)
    {
        await Task.Yield();
        await Task.Delay(order);
        await s_seats.WaitAsync();
        try { await Task.Run(() => Thread.SpinWait(1000)); }
        finally { s_seats.Release(); }
    }

    private static void StartTimer(Stage stage, int period)
    {
        var timer = new Timer(_ => Interlocked.Increment(ref s_counter), null, 0, period);
        stage.AtEnd(timer.Dispose);
    }
}
