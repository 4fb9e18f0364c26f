// The peer of sonde stacks: what dotnet-stack does, with the same libraries and no more: a session of the runtime's
// sampler, stopped at once, into a file; that file converted by TraceLog; of each thread the first sample, printed.
//
//   stackpeer PID [FOLDER]    its files go there, and away at the end
using System.Diagnostics.Tracing;
using System.Globalization;
using System.Text;
using Microsoft.Diagnostics.NETCore.Client;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Etlx;

int pid = int.Parse(args[0], CultureInfo.InvariantCulture);
string trace = Path.Combine(args.Length > 1 ? args[1] : Path.GetTempPath(), $"stackpeer-{Environment.ProcessId}.nettrace");
try
{
    await Collect(pid, trace);
    Console.Out.Write(Describe(trace));
    return 0;
}
catch (Exception failure) when (failure is DiagnosticsClientException or IOException or TimeoutException or UnauthorizedAccessException)
{
    Console.Error.WriteLine($"{failure.GetType().Name}: {failure.Message}");
    return 1;
}
finally
{
    File.Delete(trace);
    File.Delete(trace + ".etlx");
}

static async Task Collect(int pid, string path)
{
    var client = new DiagnosticsClient(pid);
    EventPipeProvider[] providers = [new("Microsoft-DotNETCore-SampleProfiler", EventLevel.Informational)];
    using EventPipeSession session = client.StartEventPipeSession(providers);
    await using FileStream file = File.Create(path);
    Task copying = session.EventStream.CopyToAsync(file);
    await Task.WhenAny(copying, Task.Delay(TimeSpan.FromMilliseconds(10)));
    session.Stop();
    await copying;
}

static string Describe(string path)
{
    var text = new StringBuilder();
    var seen = new HashSet<int>();
    using var log = new TraceLog(TraceLog.CreateFromEventPipeDataFile(path));
    foreach (TraceEvent sample in log.Events.Where(each => each.ProviderName == "Microsoft-DotNETCore-SampleProfiler"))
    {
        if (!seen.Add(sample.ThreadID))
            continue;
        text.Append(CultureInfo.InvariantCulture, $"Thread (0x{sample.ThreadID:X}):\n");
        for (TraceCallStack? stack = sample.CallStack(); stack is not null; stack = stack.Caller)
            text.Append(CultureInfo.InvariantCulture, $"  {stack.CodeAddress.ModuleName}!{stack.CodeAddress.FullMethodName}\n");
        text.Append('\n');
    }
    return text.ToString();
}
