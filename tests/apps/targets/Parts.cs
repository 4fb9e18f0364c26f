// Work in two methods, so many parts each, on lines that tests know by the comments at their ends:
// parts [first=1] [second=1] [throws=0] [pause=5]
using System.Runtime.CompilerServices;

namespace Targets;

internal static class Parts
{
    private static ulong s_sink = 88172645463325252;

    public static void Start(Stage stage)
    {
        int first = stage.Number("first", 1);
        int second = stage.Number("second", 1);
        int throws = stage.Number("throws", 0);

        stage.Repeat("parts", stage.Number("pause", 5), _ => Round(first, second, throws));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Round(int first, int second, int throws)
    {
        for (int i = 0; i < first; i++)
            First(1_000_000); // line: calls First
        for (int i = 0; i < second; i++)
            Second(1_000_000); // line: calls Second
        for (int i = 0; i < throws; i++)
            Catch();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void First(int count)
    {
        for (int i = 0; i < count; i++)
            s_sink = Mix(s_sink); // line: hot in First
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Second(int count)
    {
        for (int i = 0; i < count; i++)
            s_sink = Mix(s_sink); // line: hot in Second
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Mix(ulong state)
    {
        state ^= state << 13;
        state ^= state >> 7;
        return state ^ state << 17;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Catch()
    {
        try
        {
            Throw();
        }
        catch (InvalidOperationException)
        {
            s_sink++;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Throw()
    {
        if (s_sink != 0)
            throw new InvalidOperationException("as asked"); // line: throws
    }
}
