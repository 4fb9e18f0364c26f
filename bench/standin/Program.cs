// The peer of bench/serve.py: the least that an ASP.NET Core program can do to serve what dotnet-monitor does:
// a list of processes and their counters, which it watches. It has no keys, no TLS, no egress, no rules: kinder than
// dotnet-monitor itself.
//
//   standin PORT          serves; watches nobody
//   standin PORT watch    watches the counters of every .NET process, once a second
using System.Collections.Concurrent;
using System.Diagnostics.Tracing;
using System.Globalization;
using System.Text;
using Microsoft.Diagnostics.NETCore.Client;
using Microsoft.Diagnostics.Tracing;

var port = int.Parse(args[0], CultureInfo.InvariantCulture);
var counters = new ConcurrentDictionary<(int Pid, string Name), double>();
var watched = new ConcurrentDictionary<int, EventPipeSession>();

var builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
builder.WebHost.ConfigureKestrel(kestrel => kestrel.ListenLocalhost(port));
var app = builder.Build();
app.MapGet("/processes", () => Results.Json(Others().Select(pid => new { pid, uid = Guid.Empty, name = NameOf(pid), isDefault = false })));
app.MapGet("/metrics", () => Results.Text(Page(), "text/plain; version=0.0.4"));
if (args.Length > 1 && args[1] == "watch")
    _ = Task.Run(WatchAll);
app.Run();

// By their sockets, as the client itself did before it read every process's environment: which some kernels refuse.
static IEnumerable<int> Others() =>
    Directory.EnumerateFiles("/tmp", "dotnet-diagnostic-*-socket").Select(path => int.Parse(path.Split('-')[2], CultureInfo.InvariantCulture))
        .Where(pid => pid != Environment.ProcessId && Directory.Exists($"/proc/{pid}")).Distinct();

static string NameOf(int pid)
{
    try { return File.ReadAllText($"/proc/{pid}/comm").Trim(); }
    catch (IOException) { return ""; }
}

string Page()
{
    var page = new StringBuilder();
    foreach (var ((pid, name), value) in counters)
        page.Append(CultureInfo.InvariantCulture, $"systemruntime_{name.Replace('-', '_')}{{pid=\"{pid}\"}} {value}\n");
    return page.ToString();
}

async Task WatchAll()
{
    for (;;)
    {
        foreach (var pid in Others().Where(pid => !watched.ContainsKey(pid)))
            Watch(pid);
        await Task.Delay(TimeSpan.FromSeconds(3));
    }
}

void Watch(int pid)
{
    try
    {
        var provider = new EventPipeProvider("System.Runtime", EventLevel.Informational, 0,
                                             new Dictionary<string, string> { ["EventCounterIntervalSec"] = "1" });
        watched[pid] = new DiagnosticsClient(pid).StartEventPipeSession([provider], false, 16);
    }
    catch (Exception failure) when (failure is IOException or DiagnosticsClientException or TimeoutException or UnauthorizedAccessException)
    {
        return; // it has ended, or will be found the next time
    }
    new Thread(() => Listen(pid)) { IsBackground = true }.Start();
}

void Listen(int pid)
{
    try
    {
        using var source = new EventPipeEventSource(watched[pid].EventStream);
        source.Dynamic.All += data =>
        {
            if (data.EventName != "EventCounters")
                return;
            var fields = (IDictionary<string, object>)((IDictionary<string, object>)data.PayloadValue(0))["Payload"];
            counters[(pid, (string)fields["Name"])] = (double)(fields.TryGetValue("Mean", out var mean) ? mean : fields["Increment"]);
        };
        source.Process();
    }
    catch (Exception failure) when (failure is IOException or FormatException)
    {
        // the process ended in the middle of a message
    }
    foreach (var key in counters.Keys.Where(key => key.Pid == pid))
        counters.TryRemove(key, out _);
    watched.TryRemove(pid, out _);
}
