// Counters of the four kinds and instruments of all kinds, with values that vary: meters [every=5] [series=0]
//
// With a number of series there is one more counter, with as many sets of tags.
using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;

namespace Targets;

[EventSource(Name = "Sonde-Counters")]
internal sealed class CounterSource : EventSource
{
    public static readonly CounterSource Log = new();
}

internal static class Meters
{
    private static readonly string[] Cities = ["Oslo", "Łódź", "a,b", "x=y", "q,r=s", ""];
    private static readonly List<DiagnosticCounter> s_counters = []; // sources do not keep theirs alive

    public static void Start(Stage stage)
    {
        int every = stage.Number("every", 5);
        AddCounters(stage, every);
        AddInstruments(stage, every);
        AddMany(stage.Number("series", 0));
    }

    private static void AddCounters(Stage stage, int every)
    {
        CounterSource source = CounterSource.Log;
        long polls = 0;
        var mean = new EventCounter("mean", source) { DisplayName = "A mean", DisplayUnits = "ms" };
        var sum = new IncrementingEventCounter("sum", source) { DisplayRateTimeScale = TimeSpan.FromSeconds(1) };
        s_counters.AddRange([mean, sum,
            new EventCounter("never", source),
            new PollingCounter("polled", source, () => Math.Sqrt(++polls)),
            new PollingCounter("infinite", source, () => double.PositiveInfinity),
            new IncrementingPollingCounter("growth", source, () => Environment.TickCount64 / 3.0)]);
        mean.AddMetadata("unit", "ms");
        mean.AddMetadata("who", "me");
        stage.Repeat("counters", every, round =>
        {
            mean.WriteMetric(Math.Sin(round) * 1000);
            sum.Increment(round % 7 * 0.1);
        });
    }

    private static void AddInstruments(Stage stage, int every)
    {
        var meter = new Meter("Sonde.Meters", "2.1");
        Counter<long> orders = meter.CreateCounter<long>("orders", "{order}", "Orders, by city.");
        Counter<double> weight = meter.CreateCounter<double>("weight", "kg");
        UpDownCounter<int> open = meter.CreateUpDownCounter<int>("open");
        Histogram<double> time = meter.CreateHistogram<double>("time", "s", "How long they took.");
        Histogram<long> size = meter.CreateHistogram<long>("size", "By");
        meter.CreateHistogram<int>("unused");
        long seen = 0;
        meter.CreateObservableCounter("seen", () => Interlocked.Read(ref seen) * 3, "{look}");
        meter.CreateObservableUpDownCounter("level", () => Cities.Select((city, i) =>
            new Measurement<double>(Math.Cos(Interlocked.Read(ref seen) + i), new KeyValuePair<string, object?>("city", city))));
        meter.CreateObservableGauge("gauge", () => 1.0 / (1 + Interlocked.Read(ref seen)));
        meter.CreateObservableGauge("huge", () => 1e300);
        meter.CreateObservableGauge<double>("nothing", () => double.NaN);
        stage.Repeat("instruments", every, round =>
        {
            var city = new KeyValuePair<string, object?>("city", Cities[round % Cities.Length]);
            orders.Add(round % 5, city, new("kind", round % 2 == 0));
            weight.Add(0.1);
            open.Add(round % 3 == 0 ? -2 : 1, city);
            time.Record(Math.Exp(round % 100 / 20.0), city);
            size.Record(round * 37L % 5000 - 100);
            Interlocked.Increment(ref seen);
        });
    }

    private static void AddMany(int count)
    {
        if (count == 0)
            return;
        var meter = new Meter("Sonde.Many");
        meter.CreateObservableCounter("many", () => Enumerable.Range(0, count).Select(i =>
            new Measurement<int>(i, new KeyValuePair<string, object?>("number", i))));
    }
}
