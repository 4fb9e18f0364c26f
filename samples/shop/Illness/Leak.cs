// Baskets that nobody empties.
using System.Runtime.CompilerServices;

namespace Shop.Illness;

internal sealed class Leak() : LoopingDisease("leak", "about 5 MB a second stay reachable, up to 600 MB")
{
    private const int MostBaskets = 6_000;

    private static readonly List<Basket> s_forgotten = [];

    private sealed class Basket
    {
        public List<string> Lines { get; } =
            Enumerable.Range(0, 500).Select(i => $"line {i} is l{new string('o', 70)}ng").ToList();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    protected override void Step()
    {
        if (s_forgotten.Count < MostBaskets)
            s_forgotten.Add(new Basket());
        Thread.Sleep(20);
    }

    protected override void End()
    {
        base.End();
        s_forgotten.Clear();
        s_forgotten.TrimExcess();
    }
}
