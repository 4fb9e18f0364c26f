// What a .NET tool does to watch counters (dotnet-counters' way: EventCounters every second, read by TraceEvent)
// and to decode events live. Peer of bench/live.py.
//
//   watcher first PID              ends with the first value
//   watcher counters SECONDS PID...
//   watcher events SECONDS PID PROVIDER
using System.Diagnostics.Tracing;
using Microsoft.Diagnostics.NETCore.Client;
using Microsoft.Diagnostics.Tracing;

switch (args[0])
{
    case "first": First(int.Parse(args[1])); break;
    case "counters": Counters(double.Parse(args[1]), args[2..].Select(int.Parse).ToArray()); break;
    case "events": Events(double.Parse(args[1]), int.Parse(args[2]), args[3]); break;
    default: return 2;
}
return 0;

static EventPipeSession Open(int pid, string provider, EventLevel level, long keywords, Dictionary<string, string>? arguments) =>
    new DiagnosticsClient(pid).StartEventPipeSession([new EventPipeProvider(provider, level, keywords, arguments)], false, 16);

static EventPipeSession OpenCounters(int pid) =>
    Open(pid, "System.Runtime", EventLevel.Informational, 0, new() { ["EventCounterIntervalSec"] = "1" });

static (string Name, double Value) Read(TraceEvent data)
{
    var fields = (IDictionary<string, object>)((IDictionary<string, object>)data.PayloadValue(0))["Payload"];
    return ((string)fields["Name"], (double)(fields.TryGetValue("Mean", out var mean) ? mean : fields["Increment"]));
}

static void First(int pid)
{
    using var session = OpenCounters(pid);
    var source = new EventPipeEventSource(session.EventStream);
    source.Dynamic.All += data =>
    {
        if (data.EventName != "EventCounters")
            return;
        Console.WriteLine(Read(data));
        Environment.Exit(0);
    };
    source.Process();
}

static void Counters(double seconds, int[] pids)
{
    long values = 0;
    var sessions = pids.Select(OpenCounters).ToArray();
    var readers = sessions.Select(session => new Thread(() =>
    {
        var source = new EventPipeEventSource(session.EventStream);
        source.Dynamic.All += data =>
        {
            if (data.EventName != "EventCounters")
                return;
            var (name, value) = Read(data);
            Console.WriteLine($"{data.TimeStamp:O},{data.ProcessID},System.Runtime,{name},{value}");
            Interlocked.Increment(ref values);
        };
        source.Process();
    })).ToArray();
    Array.ForEach(readers, reader => reader.Start());
    Thread.Sleep(TimeSpan.FromSeconds(seconds));
    Array.ForEach(sessions, session => session.Stop());
    Array.ForEach(readers, reader => reader.Join());
    Console.WriteLine($"values\t{values}");
}

static void Events(double seconds, int pid, string provider)
{
    long events = 0, fields = 0;
    using var session = Open(pid, provider, EventLevel.Verbose, -1, null);
    var source = new EventPipeEventSource(session.EventStream);
    source.Dynamic.All += data =>
    {
        events++;
        for (var i = 0; i < data.PayloadNames.Length; i++)
            fields += data.PayloadValue(i) == null ? 0 : 1;
    };
    var reader = new Thread(() => source.Process());
    reader.Start();
    Thread.Sleep(TimeSpan.FromSeconds(seconds));
    session.Stop();
    reader.Join();
    Console.WriteLine($"events\t{events}\nfields\t{fields}\nlost\t{source.EventsLost}");
}
