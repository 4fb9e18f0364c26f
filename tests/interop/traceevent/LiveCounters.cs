// Reads the counters and metrics of a running process as other tools do, with Microsoft's client and
// TraceEvent, and writes each record as one line of JSON, as it comes.
using System.Diagnostics.Tracing;
using System.Text.Json;
using Microsoft.Diagnostics.NETCore.Client;
using Microsoft.Diagnostics.Tracing;

namespace Oracle;

internal static class LiveCounters
{
    private const string Metrics = "System.Diagnostics.Metrics";

    /// <summary>Until the input ends. The session of the meters is shared, with the limits that sonde asks for.</summary>
    public static void Print(int pid, string seconds, string sources, string meters, TextWriter output)
    {
        var client = new DiagnosticsClient(pid);
        using EventPipeSession session = client.StartEventPipeSession(Providers(seconds, sources, meters), false, 16);
        var stopper = new Thread(() =>
        {
            while (Console.In.Read() >= 0)
            {
            }
            session.Stop();
        });
        using var source = new EventPipeEventSource(session.EventStream);
        source.Dynamic.All += traced =>
        {
            if (Fields(traced) is { } fields)
                Write(traced, fields, output);
        };
        stopper.Start();
        source.Process();
        stopper.Join();
    }

    private static List<EventPipeProvider> Providers(string seconds, string sources, string meters)
    {
        var interval = new Dictionary<string, string> { ["EventCounterIntervalSec"] = seconds };
        List<EventPipeProvider> providers =
            [.. sources.Split(',').Select(name => new EventPipeProvider(name, EventLevel.Informational, 0, interval))];
        providers.Add(new EventPipeProvider(Metrics, EventLevel.Informational, 2, new Dictionary<string, string>
        {
            ["SessionId"] = "SHARED",
            ["Metrics"] = meters,
            ["RefreshInterval"] = seconds,
            ["MaxTimeSeries"] = "1000",
            ["MaxHistograms"] = "20",
            ["ClientId"] = Guid.NewGuid().ToString(),
        }));
        return providers;
    }

    private static IEnumerable<KeyValuePair<string, object?>>? Fields(TraceEvent traced)
    {
        if (traced.EventName == "EventCounters")
            return (IDictionary<string, object?>)((IDictionary<string, object?>)traced.PayloadValue(0))["Payload"]!;
        if (traced.ProviderName != Metrics)
            return null;
        return traced.PayloadNames.Select((name, i) => new KeyValuePair<string, object?>(name, traced.PayloadValue(i)));
    }

    private static void Write(TraceEvent traced, IEnumerable<KeyValuePair<string, object?>> fields, TextWriter output)
    {
        var line = new Dictionary<string, object?>
        {
            ["utc_ns"] = (traced.TimeStamp.ToUniversalTime() - DateTime.UnixEpoch).Ticks * 100,
            ["provider"] = traced.ProviderName,
            ["event"] = traced.EventName.Replace("/", ""), // TraceEvent puts the opcode behind one
        };
        foreach ((string name, object? value) in fields)
            line[name] = value is double or float && !double.IsFinite(Convert.ToDouble(value)) ? value.ToString() : value;
        output.WriteLine(JsonSerializer.Serialize(line));
        output.Flush();
    }
}
