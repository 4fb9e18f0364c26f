// Parsing by trial and error.
namespace Shop.Illness;

internal sealed class ExceptionStorm() : LoopingDisease("exception-storm", "thousands of exceptions a second")
{
    private int _failures;

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
