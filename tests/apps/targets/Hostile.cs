// Names and values that try to break out of whatever they are written into: of events, every 20 ms while somebody
// listens, of counters, of meters: hostile
using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;

namespace Targets;

[EventSource(Name = "Sonde-Hostile")]
internal sealed class HostileSource() : EventSource("Sonde-Hostile", EventSourceSettings.EtwSelfDescribingEventFormat)
{
    public static readonly HostileSource Log = new();

    [Event(1)]
    public void Values(string escape, string quote, string lines, string reversed, string half, double real) =>
        WriteEvent(1, escape, quote, lines, reversed, half, real);
}

internal static class Hostile
{
    private const string Escape = "\u001b[31m\u001b]0;owned\a";
    private const string Breaks = "a,b;\"c\"\r\n\t%s%n=\\{}#'";
    private const string Turned = "\u202egnol\u2066 \u0085\u2028";
    private static readonly string s_long = new('L', 2_000);
    private static readonly List<DiagnosticCounter> s_counters = [];

    public static void Start(Stage stage)
    {
        string[] names = [Escape, Breaks, Turned, s_long, "\ud800", "-p", "# TYPE x counter", "=1+1"];
        s_counters.AddRange(names.Select((name, i) => new PollingCounter($"c{i}{name}", HostileSource.Log, () => i)
        {
            DisplayName = name,
            DisplayUnits = name,
        }));
        var meter = new Meter("Sonde.Hostile " + Breaks + Escape);
        var plain = new Meter("Sonde.Plain");
        foreach (string name in names)
            meter.CreateObservableGauge("g" + name, () => 42.5, name, name);
        plain.CreateObservableGauge("tagged", () => names.Select(name =>
            new Measurement<double>(7, new KeyValuePair<string, object?>("k" + name, name))));
        stage.Repeat("hostile", 20, WriteEvents);
    }

    private static void WriteEvents(int round)
    {
        HostileSource log = HostileSource.Log;
        if (!log.IsEnabled())
            return;
        log.Values("\u001b[31mred\u001b]0;title\u0007", "say \"x\" \\ = y", "one\ntwo\r\n99:99:99.000000 forged",
            "\u202egnp.exe", "half \ud800 of", 0.5);
        log.Write("\u001b[2J\u202eName \"quoted\"\n", new { round, text = "\u0085\u2028\ufeff" });
    }
}
