// The thread pool, held up by calls that wait on a thread, with much short work and nothing wrong, or at rest: pool-blocked, pool-burst,
// pool-drained
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Targets;

internal static class Pool
{
    /// <summary>Each request asks asynchronously and waits for the answer on its pool thread; ever more requests come. Before that, and beside
    /// it as far as the pool allows, quick work: most items are fast, and those that are not hide among them.</summary>
    public static void StartBlocked(Stage stage)
    {
        int milliseconds = stage.Number("wait", 300);
        int queue = stage.Number("queue", 60);
        long begin = Environment.TickCount64 + stage.Number("healthy", 2000);
        stage.Repeat("pool-quick", 1, _ => DoQuick());
        stage.Repeat("pool-requests", 1, _ =>
        {
            if (Environment.TickCount64 > begin && ThreadPool.PendingWorkItemCount < queue)
                ThreadPool.QueueUserWorkItem(_ => AnswerRequest(milliseconds));
        });
    }

    /// <summary>One after the other: none waits for another of its kind.</summary>
    private static void DoQuick()
    {
        using var done = new ManualResetEventSlim();
        ThreadPool.QueueUserWorkItem(_ => done.Set());
        done.Wait();
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
    private static void AnswerRequest(int milliseconds) => Ask(milliseconds).Wait();

    private static async Task Ask(int milliseconds) => await Task.Delay(milliseconds);

    /// <summary>Thousands of short pieces at once, again and again: the last of them waits long, and no thread is held up.</summary>
    public static void StartBurst(Stage stage)
    {
        int pieces = stage.Number("pieces", 20_000);
        int left = 0;
        stage.Repeat("pool-bursts", 20, _ =>
        {
            if (Volatile.Read(ref left) > 0)
                return;
            Volatile.Write(ref left, pieces);
            for (int i = 0; i < pieces; i++)
                ThreadPool.QueueUserWorkItem(_ =>
                {
                    Compute();
                    Interlocked.Decrement(ref left);
                });
        });
    }

    /// <summary>No worker, many that may come, and one item in the queue, of which none is told. It lies in the second segment: the first was
    /// full, so that nothing is put into it any more, and is empty.</summary>
    public static void StartDrained(Stage stage)
    {
        const BindingFlags Hidden = BindingFlags.NonPublic | BindingFlags.Public | BindingFlags.Static | BindingFlags.Instance;
        ThreadPool.SetMinThreads(stage.Number("workers", 31), 1);
        object queue = typeof(ThreadPool).GetField("s_workQueue", Hidden)!.GetValue(null)!;
        var items = (ConcurrentQueue<object>)queue.GetType().GetField("workItems", Hidden)!.GetValue(queue)!;
        for (int i = 0; i <= Segment; i++)
            items.Enqueue(new Task(Compute));
        for (int i = 0; i < Segment; i++)
            items.TryDequeue(out _);
    }

    private const int Segment = 32; // items of a queue's first one

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Compute()
    {
        long end = Stopwatch.GetTimestamp() + Stopwatch.Frequency / 20_000;
        while (Stopwatch.GetTimestamp() < end)
            Thread.SpinWait(20);
    }
}
