// Two threads take two locks in opposite order.
using System.Runtime.CompilerServices;

namespace Shop.Illness;

internal sealed class Deadlock() : Disease("deadlock", "two threads wait for each other's lock")
{
    private readonly object _till = new();
    private readonly object _ledger = new();
    private Thread[] _threads = [];

    protected override void Begin()
    {
        var bothHoldOne = new Barrier(2);
        _threads =
        [
            StartThread("deadlock-till", () => TakeBoth(_till, _ledger, bothHoldOne)),
            StartThread("deadlock-ledger", () => TakeBoth(_ledger, _till, bothHoldOne)),
        ];
    }

    /// <summary>An interrupt is the one thing that ends the wait for a lock.</summary>
    protected override void End()
    {
        foreach (Thread thread in _threads)
            thread.Interrupt();
        foreach (Thread thread in _threads)
            thread.Join();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void TakeBoth(object first, object second, Barrier bothHoldOne)
    {
        try
        {
            lock (first)
            {
                bothHoldOne.SignalAndWait();
                lock (second)
                    Thread.Yield();
            }
        }
        catch (ThreadInterruptedException)
        {
            // cured
        }
    }
}
