// Gives the collector everything it knows: gc [threads=2] [pause=5]
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Targets;

internal static class Garbage
{
    private const int LargeBytes = 200_000; // beyond the 85,000 at which the large object heap begins

    private static readonly List<object> s_rooted = [];
    private static readonly ConditionalWeakTable<object, Node> s_attached = [];
    [ThreadStatic] private static Node? t_own;

    private sealed class Node(Node? next)
    {
        public Node? Next { get; } = next;
        public byte[] Weight { get; } = new byte[64];
    }

    private sealed class Finalized
    {
        private static int s_count;
        ~Finalized() => Interlocked.Increment(ref s_count);
    }

    public static void Start(Stage stage)
    {
        int pause = stage.Number("pause", 5);

        for (int i = 0; i < stage.Number("threads", 2); i++)
            stage.Repeat($"alloc-{i}", pause, AllocateSmall);
        stage.Repeat("large", pause * 4, AllocateLarge);
        stage.Repeat("handles", pause * 2, UseHandles);
        stage.Repeat("collect", pause * 40, Collect);
    }

    /// <summary>Most die young; the chain of every hundredth round lives on until it is replaced.</summary>
    private static void AllocateSmall(int round)
    {
        Node? chain = null;
        for (int i = 0; i < 500; i++)
            chain = new Node(i % 50 == 0 ? null : chain);
        if (round % 100 == 0)
            t_own = chain;
        for (int i = 0; i < 20; i++)
            _ = new Finalized();
    }

    private static void AllocateLarge(int round)
    {
        var large = new byte[LargeBytes + round % 1000];
        byte[] unmoving = GC.AllocateArray<byte>(4096, pinned: true);
        if (round % 10 != 0)
            return;
        lock (s_rooted)
        {
            if (s_rooted.Count >= 20)
                s_rooted.Clear();
            s_rooted.Add(large);
            s_rooted.Add(unmoving);
        }
    }

    private static void UseHandles(int round)
    {
        object key = new();
        s_attached.Add(key, new Node(null));
        var dependent = new DependentHandle(key, new Node(null));
        var pinned = GCHandle.Alloc(new byte[256], GCHandleType.Pinned);
        var strong = GCHandle.Alloc(key);
        var weak = new WeakReference(key, trackResurrection: round % 2 == 0);

        GC.AddMemoryPressure(1000);
        Thread.Sleep(1); // a collection may fall in here and see them all
        GC.RemoveMemoryPressure(1000);
        GC.KeepAlive(weak.Target);
        strong.Free();
        pinned.Free();
        dependent.Dispose();
    }

    private static void Collect(int round)
    {
        if (round % 12 == 11)
            GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        GC.Collect(round % 3, round % 4 == 3 ? GCCollectionMode.Optimized : GCCollectionMode.Forced, round % 2 == 0);
    }
}
