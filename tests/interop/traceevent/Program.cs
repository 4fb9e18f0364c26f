// Says what TraceEvent reads from a .nettrace file, in forms that other programs can print too.
//
//   traceevent.dll counts FILE             events by provider, id and version, and the lost ones
//   traceevent.dll digest FILE             one sorted line per event; README.md has the columns
//   traceevent.dll stacks FILE [--modules] the sampler's stacks with method names, folded
//   traceevent.dll universal FILE          samples, switches and times of a machine-wide recording
//   traceevent.dll perfscript FILE [--threads]  stacks of a perfcollect file, or thread times
//   traceevent.dll lines ASSEMBLY          the sequence points of its PDB, by System.Reflection.Metadata
//   traceevent.dll counters PID SECONDS SOURCE,... METER,...  counters and metrics of a process, live, as JSON
//   traceevent.dll bench FILE [--payload]  how fast it reads the file
using System.Buffers.Binary;
using System.Diagnostics;
using System.Globalization;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Etlx;
using Microsoft.Diagnostics.Tracing.EventPipe;
using Microsoft.Diagnostics.Tracing.Parsers;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

namespace Oracle;

internal static class Program
{
    private const string Sampler = "Microsoft-DotNETCore-SampleProfiler";
    private const int BenchRounds = 3;

    private static int Main(string[] args)
    {
        using var output = new StreamWriter(Console.OpenStandardOutput(), bufferSize: 1 << 16);
        try
        {
            return Run(args, output);
        }
        catch (Exception error) // whatever TraceEvent makes of a broken file
        {
            Console.Error.WriteLine($"traceevent: {args[1]}: {error.GetType().Name}: {error.Message}");
            return 1;
        }
    }

    private static int Run(string[] args, TextWriter output)
    {
        switch (args)
        {
            case ["counts", var file]: PrintCounts(file, output); return 0;
            case ["digest", var file]: PrintDigest(file, output); return 0;
            case ["stacks", var file]: PrintStacks(file, false, output); return 0;
            case ["stacks", var file, "--modules"]: PrintStacks(file, true, output); return 0;
            case ["universal", var file]: UniversalTrace.Print(file, output); return 0;
            case ["perfscript", var file]: PerfScript.Print(file, false, output); return 0;
            case ["perfscript", var file, "--threads"]: PerfScript.Print(file, true, output); return 0;
            case ["lines", var file]: SourceLines.Print(file, output); return 0;
            case ["counters", var pid, var seconds, var sources, var meters]:
                LiveCounters.Print(int.Parse(pid, CultureInfo.InvariantCulture), seconds, sources, meters, output);
                return 0;
            case ["bench", var file]: PrintBench(file, false, output); return 0;
            case ["bench", var file, "--payload"]: PrintBench(file, true, output); return 0;
        }
        Console.Error.WriteLine("usage: traceevent.dll counts|digest|stacks|universal|perfscript|lines|bench FILE [--payload]");
        return 2;
    }

    private static void PrintCounts(string file, TextWriter output)
    {
        var counts = new Dictionary<(string, ushort, byte), long>();
        using var source = new EventPipeEventSource(file);
        var names = new ProviderNames(source);
        source.AllEvents += data =>
        {
            var record = new EventRecord(data);
            var key = (names.Find(record.ProviderId), record.Id, record.Version);
            counts[key] = counts.GetValueOrDefault(key) + 1;
        };
        source.Process();
        PrintSorted(counts.Select(pair =>
            $"{pair.Key.Item1}\t{pair.Key.Item2}\t{pair.Key.Item3}\t{pair.Value}"), output);
        output.WriteLine($"lost\t{source.EventsLost}");
    }

    private static void PrintDigest(string file, TextWriter output)
    {
        var lines = new List<string>();
        using var source = new EventPipeEventSource(file);
        var names = new ProviderNames(source);
        source.AllEvents += data => lines.Add(Digest(new EventRecord(data), names));
        source.Process();
        PrintSorted(lines, output);
    }

    private static string Digest(EventRecord record, ProviderNames names)
    {
        ulong[] stack = record.Stack();
        return string.Join('\t',
            names.Find(record.ProviderId), record.Id, record.Version,
            record.ProcessId, record.ThreadId, record.TimeStamp,
            Convert.ToHexStringLower(record.ActivityId), Convert.ToHexStringLower(record.RelatedActivityId),
            record.Payload.Length, Hash(record.Payload).ToString("x16"),
            stack.Length, Hash(stack).ToString("x16"));
    }

    private static ulong Hash(ReadOnlySpan<byte> bytes) // FNV-1a, 64 bits
    {
        ulong hash = 0xcbf29ce484222325;
        foreach (byte value in bytes)
            hash = (hash ^ value) * 0x100000001b3;
        return hash;
    }

    private static ulong Hash(ulong[] addresses)
    {
        var bytes = new byte[addresses.Length * 8];
        for (int i = 0; i < addresses.Length; i++)
            BinaryPrimitives.WriteUInt64LittleEndian(bytes.AsSpan(i * 8), addresses[i]);
        return Hash(bytes);
    }

    private static void PrintStacks(string file, bool withModules, TextWriter output)
    {
        DirectoryInfo scratch = Directory.CreateTempSubdirectory("traceevent");
        try
        {
            string etlx = Path.Combine(scratch.FullName, "trace.etlx");
            TraceLog.CreateFromEventPipeDataFile(file, etlx);
            using var log = new TraceLog(etlx);
            PrintSorted(log.Events.Where(data => data.ProviderName == Sampler).GroupBy(data => Fold(data, withModules))
                .Select(group => $"{group.Key} {group.Count()}"), output);
        }
        finally
        {
            scratch.Delete(true);
        }
    }

    private static string Fold(TraceEvent data, bool withModules)
    {
        var frames = new List<string>();
        for (TraceCallStack? at = data.CallStack(); at != null; at = at.Caller)
        {
            string name = at.CodeAddress.FullMethodName is { Length: > 0 } known ? known : "?";
            frames.Add(withModules ? $"{at.CodeAddress.ModuleFile?.Name ?? "?"}!{name}" : name);
        }
        frames.Reverse();
        return string.Join(';', frames);
    }

    private static void PrintBench(string file, bool readPayload, TextWriter output)
    {
        var best = TimeSpan.MaxValue;
        long events = 0, values = 0;
        for (int round = 0; round < BenchRounds; round++)
        {
            long started = Stopwatch.GetTimestamp();
            (events, values) = ReadAll(file, readPayload);
            TimeSpan spent = Stopwatch.GetElapsedTime(started);
            best = spent < best ? spent : best;
        }
        output.WriteLine($"events\t{events}");
        output.WriteLine($"values\t{values}");
        output.WriteLine($"seconds\t{best.TotalSeconds.ToString("f6", CultureInfo.InvariantCulture)}");
        output.WriteLine($"events_per_second\t{events / best.TotalSeconds:f0}");
    }

    private static (long Events, long Values) ReadAll(string file, bool readPayload)
    {
        long events = 0, values = 0;
        using var source = new EventPipeEventSource(file);
        if (readPayload)
            AddParsers(source);
        source.AllEvents += data =>
        {
            events++;
            if (readPayload)
                values += ReadPayload(data);
        };
        source.Process();
        return (events, values);
    }

    // Without a parser that was asked for its events, TraceEvent does not know the runtime's fields.
    private static void AddParsers(EventPipeEventSource source)
    {
        source.Clr.All += _ => { };
        new ClrRundownTraceEventParser(source).All += _ => { };
        new ClrPrivateTraceEventParser(source).All += _ => { };
        new SampleProfilerTraceEventParser(source).All += _ => { };
        source.Dynamic.All += _ => { };
    }

    private static int ReadPayload(TraceEvent data)
    {
        int count = data.PayloadNames.Length;
        for (int i = 0; i < count; i++)
            data.PayloadValue(i);
        return count;
    }

    private static void PrintSorted(IEnumerable<string> lines, TextWriter output)
    {
        foreach (string line in lines.Order(StringComparer.Ordinal))
            output.WriteLine(line);
    }
}
