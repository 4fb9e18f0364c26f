// Work that waits without giving its pool thread back.
using System.Runtime.CompilerServices;

namespace Shop.Illness;

internal sealed class Starvation() : LoopingDisease("starvation", "blocking calls occupy the thread pool")
{
    // A fixed number would cure itself: the pool adds threads until all of it fits. A queue without
    // end could not be cured. So the backlog follows the size of the pool.
    private const int BacklogPerThread = 4;
    private const int MostBacklog = 400;

    private int _waiting;

    protected override void Step()
    {
        int wanted = Math.Min(MostBacklog, ThreadPool.ThreadCount * BacklogPerThread);
        while (Volatile.Read(ref _waiting) < wanted)
        {
            Interlocked.Increment(ref _waiting);
            ThreadPool.QueueUserWorkItem(_ => AskSupplier());
        }
        Thread.Sleep(20);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void AskSupplier()
    {
        Thread.Sleep(100);
        Interlocked.Decrement(ref _waiting);
    }
}
