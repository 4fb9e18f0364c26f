// Parsing by trial and error.
using System.Runtime.CompilerServices;

namespace Shop.Illness;

internal sealed class ExceptionStorm() : LoopingDisease("exception-storm", "thousands of exceptions a second")
{
    private int _failures;

    [MethodImpl(MethodImplOptions.NoInlining)]
    protected override void Step()
    {
        try
        {
            int.Parse("twelve");
        }
        catch (FormatException)
        {
            _failures++;
        }
    }
}
