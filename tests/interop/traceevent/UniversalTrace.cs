// What TraceEvent makes of a machine-wide recording: README.md has the lines.
using System.Globalization;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Etlx;
using Microsoft.Diagnostics.Tracing.Parsers;
using Microsoft.Diagnostics.Tracing.Parsers.Universal.Events;
using Microsoft.Diagnostics.Tracing.Stacks;
using Microsoft.Diagnostics.Tracing.StackSources;
using Microsoft.Diagnostics.Symbols;

namespace Oracle;

internal static class UniversalTrace
{
    private sealed class Tally
    {
        public readonly Dictionary<string, long> Counts = new();
        public readonly Dictionary<string, long> Sums = new();

        public void Add(string key, long sum)
        {
            Counts[key] = Counts.GetValueOrDefault(key) + 1;
            Sums[key] = Sums.GetValueOrDefault(key) + sum;
        }
    }

    public static void Print(string file, TextWriter output)
    {
        DirectoryInfo scratch = Directory.CreateTempSubdirectory("traceevent");
        try
        {
            string etlx = Path.Combine(scratch.FullName, "trace.etlx");
            TraceLog.CreateFromEventPipeDataFile(file, etlx);
            using var log = new TraceLog(etlx);
            PrintLog(log, output);
        }
        finally
        {
            scratch.Delete(true);
        }
    }

    private static void PrintLog(TraceLog log, TextWriter output)
    {
        var samples = new Tally();
        var others = new Tally();
        TraceLogEventSource source = log.Events.GetSource();
        var universal = new UniversalEventsTraceEventParser(source);
        universal.cpu += data => samples.Add(Key("cpu", data), (long)data.Value);
        universal.cswitch += data => samples.Add(Key("cswitch", data), (long)data.Value);
        source.Clr.All += data => others.Add($"clr\t{data.ProcessID}\t{data.EventName}", 0);
        source.Process();
        foreach (TraceProcess process in log.Processes)
            output.WriteLine($"process\t{process.ProcessID}\t{process.Name}");
        foreach (string key in samples.Counts.Keys.Order(StringComparer.Ordinal))
            output.WriteLine($"{key.Insert(key.IndexOf('\t'), $"\t{samples.Counts[key]}\t{samples.Sums[key]}")}");
        foreach (string key in others.Counts.Keys.Order(StringComparer.Ordinal))
            output.WriteLine($"{key}\t{others.Counts[key]}");
        PrintThreadTime(log, output);
        output.WriteLine($"lost\t{log.EventsLost}");
    }

    private static string Key(string kind, TraceEvent data)
    {
        var frames = new List<string>();
        for (TraceCallStack? at = data.CallStack(); at != null; at = at.Caller)
        {
            string name = at.CodeAddress.FullMethodName is { Length: > 0 } known ? known : "?";
            frames.Add($"{at.CodeAddress.ModuleFile?.Name ?? "?"}!{name}");
        }
        frames.Reverse();
        return $"{kind}\t{data.ProcessID}\t{data.ThreadID}\t{string.Join(';', frames)}";
    }

    // The view that PerfView calls "Thread Time": milliseconds that threads ran and were blocked.
    private static void PrintThreadTime(TraceLog log, TextWriter output)
    {
        var times = new MutableTraceEventStackSource(log);
#pragma warning disable CS0618 // "experimental"
        var computer = new ThreadTimeStackComputer(log, new SymbolReader(TextWriter.Null));
#pragma warning restore CS0618
        computer.GenerateThreadTimeStacks(times);
        var sums = new SortedDictionary<string, double>(StringComparer.Ordinal);
        times.ForEach(sample =>
        {
            string leaf = times.GetFrameName(times.GetFrameIndex(sample.StackIndex), false);
            sums[leaf] = sums.GetValueOrDefault(leaf) + sample.Metric;
        });
        foreach ((string leaf, double sum) in sums)
            output.WriteLine($"time\t{leaf}\t{sum.ToString("f3", CultureInfo.InvariantCulture)}");
    }
}
