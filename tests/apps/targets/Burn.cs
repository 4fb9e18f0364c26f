// Busy threads with deep stacks among parked ones: burn [threads=2] [parked=0] [depth=40] [rounds=0] [held=0]
//
// With held=1 the threads begin when somebody sends SIGHUP.
// With a number of rounds the first thread ends the program when it has done as many: the same work, whatever it costs.
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Targets;

internal static class Burn
{
    private static long s_sink;

    public static void Start(Stage stage)
    {
        int depth = stage.Number("depth", 40);

        int rounds = stage.Number("rounds", 0);
        var begins = new ManualResetEventSlim(stage.Number("held", 0) == 0);
        var signal = PosixSignalRegistration.Create(PosixSignal.SIGHUP, context =>
        {
            context.Cancel = true;
            begins.Set();
        });
        stage.AtEnd(signal.Dispose);
        for (int i = 0; i < stage.Number("threads", 2); i++)
            stage.Spawn($"burn-{i}", () =>
            {
                WaitHandle.WaitAny([begins.WaitHandle, stage.Stopping.WaitHandle]);
                BurnUntilStopped(stage, depth, rounds);
            });
        for (int i = 0; i < stage.Number("parked", 0); i++)
            stage.Spawn($"parked-{i}", () => Descend(depth, () => stage.Stopping.WaitHandle.WaitOne() ? 1 : 0));
    }

    /// <summary>Stays at the bottom for some milliseconds, so that nearly every sample is a deep one.</summary>
    private static void BurnUntilStopped(Stage stage, int depth, int rounds)
    {
        for (int round = 1; !stage.IsStopping; round++)
        {
            s_sink += Descend(depth, Compute);
            if (round == rounds)
                stage.Stop(0);
        }
    }

    // Three methods call each other in turn, so that a stack shows more than one name. The addition
    // after each call keeps the jit from turning it into a jump.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Descend(int depth, Func<long> leaf) =>
        depth <= 1 ? leaf() : DescendLeft(depth - 1, leaf) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long DescendLeft(int depth, Func<long> leaf) =>
        depth <= 1 ? leaf() : DescendRight(depth - 1, leaf) + 2;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long DescendRight(int depth, Func<long> leaf) =>
        depth <= 1 ? leaf() : Descend(depth - 1, leaf) + 3;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Compute()
    {
        ulong state = 88172645463325252;
        for (int i = 0; i < 2_000_000; i++)
        {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        return (long)state;
    }
}
