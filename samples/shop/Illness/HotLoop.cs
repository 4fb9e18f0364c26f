// A thread that computes what nobody needs.
using System.Runtime.CompilerServices;

namespace Shop.Illness;

internal sealed class HotLoop() : LoopingDisease("hot-loop", "one thread burns a whole core")
{
    private long _sum;

    protected override void Step() => _sum += CountPrimesBelow(20_000);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int CountPrimesBelow(int limit)
    {
        int count = 0;
        for (int number = 2; number < limit; number++)
            count += IsPrime(number) ? 1 : 0;
        return count;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool IsPrime(int number)
    {
        for (int divisor = 2; divisor * divisor <= number; divisor++)
            if (number % divisor == 0)
                return false;
        return true;
    }
}
