// Throws in every way the language has: exceptions [pause=10]
namespace Targets;

internal static class Exceptions
{
    private static int s_finallies;

    public static void Start(Stage stage)
    {
        Action[] ways = [ThrowAndCatch, Filter, Nest, Rethrow, ThrowAgain, FromRuntime, FromFinally, FromTask];

        stage.Repeat("exceptions", stage.Number("pause", 10), round => ways[round % ways.Length]());
    }

    private static void Throw(string message) => throw new InvalidOperationException(message);

    private static void ThrowAndCatch()
    {
        try { Throw("simple"); }
        catch (InvalidOperationException) { }
    }

    /// <summary>The first filter declines, so that two of them are seen running.</summary>
    private static void Filter()
    {
        try { Throw("filtered"); }
        catch (InvalidOperationException e) when (e.Message == "another") { }
        catch (InvalidOperationException e) when (e.Message == "filtered") { }
    }

    private static void Nest()
    {
        try
        {
            try { Throw("inner"); }
            catch (InvalidOperationException e) { throw new ArgumentException("outer", e); }
        }
        catch (ArgumentException) { }
    }

    private static void Rethrow()
    {
        try
        {
            try { Throw("rethrown"); }
            catch (InvalidOperationException) { throw; }
        }
        catch (InvalidOperationException) { }
    }

    private static void ThrowAgain()
    {
        try
        {
            try { Throw("thrown again"); }
#pragma warning disable CA2200 // losing the first stack is the point
            catch (InvalidOperationException e) { throw e; }
#pragma warning restore CA2200
        }
        catch (InvalidOperationException) { }
    }

    /// <summary>These start as a hardware signal or inside the runtime, not at a throw.</summary>
    private static void FromRuntime()
    {
        string? nothing = null;
        int zero = 0;
        object text = "text";
        int[] one = [1];

        try { _ = nothing!.Length; } catch (NullReferenceException) { }
        try { _ = 1 / zero; } catch (DivideByZeroException) { }
        try { _ = one[1 + zero]; } catch (IndexOutOfRangeException) { }
        try { _ = (int[])text; } catch (InvalidCastException) { }
    }

    private static void FromFinally()
    {
        try
        {
            try { Throw("passes a finally"); }
            finally { s_finallies++; ThrowAndCatch(); }
        }
        catch (InvalidOperationException) { }
    }

    private static void FromTask()
    {
        try { ThrowLater().Wait(); }
        catch (AggregateException) { }
    }

    private static async Task ThrowLater()
    {
        await Task.Yield();
        Throw("from a task");
    }
}
