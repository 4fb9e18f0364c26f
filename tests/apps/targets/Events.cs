// One event for each thing an EventSource can express, every 20 ms while somebody listens, and one
// instrument of each kind: events [every=20]
using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;

namespace Targets;

internal enum Colour : byte { Red = 1, Green = 2, Blue = 4 }

/// <summary>Self-describing payloads are built from types so marked.</summary>
[EventData]
internal sealed class Point
{
    public int X { get; set; }
    public double Y { get; set; }
    public string Label { get; set; } = "";
}

[EventSource(Name = "Sonde-Every")]
internal sealed class EverySource : EventSource
{
    public static readonly EverySource Log = new();

    public static class Keywords
    {
        public const EventKeywords Integers = (EventKeywords)0x1;
        public const EventKeywords Others = (EventKeywords)0x2;
        public const EventKeywords Work = (EventKeywords)0x4;
        public const EventKeywords High = (EventKeywords)(1L << 40);
    }

    public static class Tasks
    {
        public const EventTask Work = (EventTask)1;
        public const EventTask Message = (EventTask)2;
    }

    [Event(1, Keywords = Keywords.Integers)]
    public void Integers(bool yes, byte u8, sbyte i8, short i16, ushort u16, int i32, uint u32, long i64, ulong u64) =>
        WriteEvent(1, yes, u8, i8, i16, u16, i32, u32, i64, u64);

    [Event(2, Keywords = Keywords.Others)]
    public void Others(char letter, float single, double twice, Guid guid, DateTime when, Colour hue, nint pointer) =>
        WriteEvent(2, letter, single, twice, guid, when, hue, pointer);

    [Event(3, Keywords = Keywords.Others)]
    public void Texts(string plain, string empty, string unicode, string surrogates) =>
        WriteEvent(3, plain, empty, unicode, surrogates);

    // A null goes out as an empty text, but only through the overloads made for texts.
    [Event(6, Keywords = Keywords.Others)]
    public void MissingText(string before, string? missing) => WriteEvent(6, before, missing);

    [Event(4, Keywords = Keywords.Others)]
    public void Bytes(int before, byte[] bytes, int after) => WriteEvent(4, before, bytes, after);

    [Event(5, Keywords = Keywords.Others)]
    public void Nothing() => WriteEvent(5);

    [Event(11, Level = EventLevel.Critical)]
    public void AtCritical(int number) => WriteEvent(11, number);

    [Event(12, Level = EventLevel.Error)]
    public void AtError(int number) => WriteEvent(12, number);

    [Event(13, Level = EventLevel.Warning)]
    public void AtWarning(int number) => WriteEvent(13, number);

    [Event(14, Level = EventLevel.Informational, Keywords = Keywords.High)]
    public void AtInformational(int number) => WriteEvent(14, number);

    [Event(15, Level = EventLevel.Verbose)]
    public void AtVerbose(int number) => WriteEvent(15, number);

    [Event(21, Version = 3)]
    public void Versioned(int first, string added) => WriteEvent(21, first, added);

    [Event(300)]
    public void BigId(long number) => WriteEvent(300, number);

    // The names matter: Start and Stop at the end make a pair that carries an activity.
    [Event(31, Keywords = Keywords.Work, Task = Tasks.Work, Opcode = EventOpcode.Start)]
    public void WorkStart(string name) => WriteEvent(31, name);

    [Event(32, Keywords = Keywords.Work, Task = Tasks.Work, Opcode = EventOpcode.Stop)]
    public void WorkStop(string name) => WriteEvent(32, name);

    [Event(33, Keywords = Keywords.Work, Task = Tasks.Message, Opcode = EventOpcode.Send)]
    public void MessageSend(Guid relatedActivityId, string name) =>
        WriteEventWithRelatedActivityId(33, relatedActivityId, name);

    [Event(34, Keywords = Keywords.Work, Task = Tasks.Message, Opcode = EventOpcode.Receive)]
    public void MessageReceive(string name) => WriteEvent(34, name);
}

internal static class Events
{
    private static readonly DateTime Moment = new(2024, 2, 29, 12, 34, 56, 789, DateTimeKind.Utc);
    private static readonly Guid Identity = new("00112233-4455-6677-8899-aabbccddeeff");

    public static void Start(Stage stage)
    {
        EverySource log = EverySource.Log;
        if (log.ConstructionException is { } broken)
            throw broken;
        AddCounters(stage, log);
        AddInstruments(stage);
        stage.Repeat("events", stage.Number("every", 20), round =>
        {
            if (!log.IsEnabled())
                return;
            WriteTypes(log, round);
            WriteShapes(log, round);
            WriteActivities(log, round);
            WriteSelfDescribing(log, round);
        });
    }

    private static void WriteTypes(EverySource log, int round)
    {
        log.Integers(true, byte.MaxValue, sbyte.MinValue, short.MinValue, ushort.MaxValue, round, uint.MaxValue,
            long.MinValue, ulong.MaxValue);
        log.Others('Ω', 1.5f, Math.PI, Identity, Moment, Colour.Blue, 0x1234);
        log.Texts("plain", "", "grüße 你好", "clef \U0001D11E");
        log.MissingText("before", null);
        log.Bytes(round, [0, 1, 2, 253, 254, 255], -round);
        log.Nothing();
    }

    private static void WriteShapes(EverySource log, int round)
    {
        log.AtCritical(round);
        log.AtError(round);
        log.AtWarning(round);
        log.AtInformational(round);
        log.AtVerbose(round);
        log.Versioned(round, "third");
        log.BigId(round);
    }

    private static void WriteActivities(EverySource log, int round)
    {
        log.WorkStart("outer");
        log.WorkStart("inner");
        log.WorkStop("inner");
        log.WorkStop("outer");

        var mine = new Guid(round, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
        EventSource.SetCurrentThreadActivityId(mine, out Guid before);
        log.MessageSend(Identity, "related");
        log.MessageReceive("own activity only");
        EventSource.SetCurrentThreadActivityId(before);
    }

    private static void WriteSelfDescribing(EverySource log, int round)
    {
        var options = new EventSourceOptions { Level = EventLevel.Warning, Keywords = EverySource.Keywords.Others };
        var point = new Point { X = round, Y = 0.5, Label = "p" };

        log.Write("Empty", options);
        log.Write("Scalars", options, new { round, yes = true, text = "plain", price = 12.5m, Moment, Identity });
        // No array of strings: the runtime refuses those.
        log.Write("Arrays", options, new { ints = new[] { 1, 2, 3 }, ids = new[] { Identity }, none = Array.Empty<long>() });
        log.Write("Nested", options, new { round, inner = new { point, colour = Colour.Green }, last = "end" });
        log.Write("Points", options, new { points = new[] { point, new Point { X = 2, Label = "q" } }, after = round });
        log.Write("Typed", options, point);
        log.Write("Pairs", options, new { map = new Dictionary<string, string> { ["one"] = "1", ["two"] = "2" } });
        log.Write("Optional", options, new { some = (int?)round, none = (int?)null });
    }

    private static void AddCounters(Stage stage, EventSource source)
    {
        var mean = new EventCounter("mean", source) { DisplayName = "Mean of rounds", DisplayUnits = "ms" };
        var rate = new IncrementingEventCounter("rate", source) { DisplayRateTimeScale = TimeSpan.FromSeconds(1) };
        var polled = new PollingCounter("polled", source, () => Environment.TickCount64 % 100);
        var growth = new IncrementingPollingCounter("growth", source, () => Environment.TickCount64);
        polled.AddMetadata("kind", "sawtooth");

        stage.Repeat("counters", 10, round =>
        {
            mean.WriteMetric(round % 10);
            rate.Increment();
        });
        stage.AtEnd(() => Array.ForEach<DiagnosticCounter>([mean, rate, polled, growth], counter => counter.Dispose()));
    }

    private static void AddInstruments(Stage stage)
    {
        var meter = new Meter("Sonde-Meter", "1.2");
        Counter<long> orders = meter.CreateCounter<long>("orders", "{order}", "Orders taken");
        UpDownCounter<int> open = meter.CreateUpDownCounter<int>("open");
        Histogram<double> time = meter.CreateHistogram<double>("time", "ms");
        meter.CreateObservableGauge("gauge", () => Environment.TickCount64 % 100);
        meter.CreateObservableCounter("ticks", () => Environment.TickCount64);

        stage.Repeat("instruments", 10, round =>
        {
            orders.Add(1, new KeyValuePair<string, object?>("colour", (round % 3).ToString()));
            open.Add(round % 2 == 0 ? 1 : -1);
            time.Record(round % 50);
        });
        stage.AtEnd(meter.Dispose);
    }
}
