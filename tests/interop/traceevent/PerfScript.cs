// What PerfView's reader makes of perfcollect's files.
using System.Globalization;
using Microsoft.Diagnostics.Tracing.Stacks;
using Microsoft.Diagnostics.Tracing.StackSources;

namespace Oracle;

internal static class PerfScript
{
    public static void Print(string file, bool threadTime, TextWriter output)
    {
        var source = new LinuxPerfScriptStackSource(file, threadTime);
        var counts = new SortedDictionary<string, (long Count, double Sum)>(StringComparer.Ordinal);
        source.ForEach(sample =>
        {
            string stack = Fold(source, sample.StackIndex);
            (long count, double sum) = counts.GetValueOrDefault(stack);
            counts[stack] = (count + 1, sum + sample.Metric);
        });
        foreach ((string stack, (long count, double sum)) in counts)
            output.WriteLine($"{count}\t{sum.ToString("f3", CultureInfo.InvariantCulture)}\t{stack}");
    }

    private static string Fold(StackSource source, StackSourceCallStackIndex at)
    {
        var frames = new List<string>();
        for (; at != StackSourceCallStackIndex.Invalid; at = source.GetCallerIndex(at))
            frames.Add(source.GetFrameName(source.GetFrameIndex(at), false));
        frames.Reverse();
        return string.Join(';', frames);
    }
}
