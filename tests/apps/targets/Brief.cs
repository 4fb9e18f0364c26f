// Lives for a moment and uses as little of the framework as can be: brief MILLISECONDS-UNTIL-IT-RENTS MILLISECONDS-AFTER
//
// No console, no tasks, no timers: what static constructors such a program leaves to whoever watches it, it leaves.
using System.Buffers;

namespace Targets;

internal static class Brief
{
    public static int Run(string[] args)
    {
        Thread.Sleep(int.Parse(args[1]));
        ArrayPool<byte>.Shared.Return(ArrayPool<byte>.Shared.Rent(100));
        Thread.Sleep(int.Parse(args[2]));
        return 0;
    }
}
