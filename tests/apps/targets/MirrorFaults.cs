// The ways of "mirror" that end while an exception is in flight: in filters, catches and finallys.
using System.Runtime.CompilerServices;

namespace Targets;

internal static class MirrorFaults
{
    private static int s_zero;
    private static readonly string?[] s_nothing = [null];

    public static (string, Action)[] All() =>
    [
        ("in-catch", InCatch), ("deep-in-catch", DeepInCatch), ("in-filter", InFilter), ("in-finally", InFinally),
        ("calm-finally", CalmFinally), ("catch-in-catch", CatchInCatch), ("catch-in-finally", CatchInFinally),
        ("in-rethrow", InRethrow), ("null-reference", NullReference), ("division", Division), ("after-catch", AfterCatch),
        ("throw-from-sort", ThrowFromSort), ("filter-in-catch", FilterInCatch), ("async-catch", AsyncCatch),
    ];

    private sealed class Fault(string message) : Exception(message);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Throw(int depth) => depth == 0 ? throw new Fault("in flight") : Throw(depth - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool Look(string what) => Mirror.Hold(what) >= 0;

    private static void InCatch()
    {
        try
        {
            Throw(0);
        }
        catch (Fault)
        {
            Mirror.Hold("in-catch");
        }
    }

    private static void DeepInCatch()
    {
        try
        {
            Throw(40);
        }
        catch (Fault)
        {
            MirrorCases.Descend(20, "deep-in-catch");
        }
    }

    private static void InFilter()
    {
        try
        {
            Throw(5);
        }
        catch (Fault) when (Look("in-filter"))
        {
            s_zero = 0;
        }
    }

    private static void InFinally()
    {
        try
        {
            ThrowThroughFinally();
        }
        catch (Fault)
        {
            s_zero = 0;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ThrowThroughFinally()
    {
        try
        {
            Throw(5);
        }
        finally
        {
            Mirror.Hold("in-finally");
        }
    }

    private static void CalmFinally()
    {
        try
        {
            s_zero = 0;
        }
        finally
        {
            Mirror.Hold("calm-finally");
        }
    }

    private static void CatchInCatch()
    {
        try
        {
            Throw(3);
        }
        catch (Fault)
        {
            try
            {
                Throw(4);
            }
            catch (Fault)
            {
                Look("catch-in-catch");
            }
        }
    }

    private static void CatchInFinally()
    {
        try
        {
            try
            {
                Throw(3);
            }
            finally
            {
                CatchAndHold("catch-in-finally");
            }
        }
        catch (Fault)
        {
            s_zero = 0;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void CatchAndHold(string what)
    {
        try
        {
            Throw(2);
        }
        catch (Fault)
        {
            Look(what);
        }
    }

    private static void InRethrow()
    {
        try
        {
            try
            {
                Throw(3);
            }
            catch (Fault)
            {
                s_zero = 0;
                throw;
            }
        }
        catch (Fault)
        {
            Mirror.Hold("in-rethrow");
        }
    }

    private static void NullReference()
    {
        try
        {
            s_zero = s_nothing[0]!.Length;
        }
        catch (NullReferenceException)
        {
            Mirror.Hold("null-reference");
        }
    }

    private static void Division()
    {
        try
        {
            s_zero = 1 / s_zero;
        }
        catch (DivideByZeroException)
        {
            MirrorCases.Descend(3, "division");
        }
    }

    private static void AfterCatch()
    {
        try
        {
            Throw(10);
        }
        catch (Fault)
        {
            s_zero = 0;
        }
        Mirror.Hold("after-catch");
    }

    private static void ThrowFromSort()
    {
        try
        {
            Array.Sort([3, 1, 2], (_, _) => Throw(2));
        }
        catch (InvalidOperationException)
        {
            Mirror.Hold("throw-from-sort");
        }
    }

    private static void FilterInCatch()
    {
        try
        {
            Throw(1);
        }
        catch (Fault)
        {
            try
            {
                Throw(2);
            }
            catch (Fault) when (Look("filter-in-catch"))
            {
                s_zero = 0;
            }
        }
    }

    private static void AsyncCatch() => CatchAsync().GetAwaiter().GetResult();

    private static async Task CatchAsync()
    {
        try
        {
            await ThrowAsync();
        }
        catch (Fault)
        {
            Mirror.Hold("async-catch");
        }
    }

    private static async Task ThrowAsync()
    {
        await Task.CompletedTask;
        Throw(3);
    }
}
