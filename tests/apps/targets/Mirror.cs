// Threads that say where they are and stay there: mirror [crowd=0] [spin=1] [depth=500]
//
// Each goes its own way, asks the runtime for its own StackTrace, and blocks at that very point, in Hold. A line of
// JSON for each comes before "ready": who it is and its frames, the innermost (Hold) first. What lies inside Hold
// is only how it blocks. Nothing here is inlined: what the source calls is what a stack shows.
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Json;

namespace Targets;

internal static class Mirror
{
    private static readonly object s_gate = new();
    private static readonly ManualResetEvent s_never = new(false);
    private static readonly Dictionary<int, string> s_said = [];
    private static readonly HashSet<int> s_spinning = [];
    private static Stage s_stage = null!;
    private static int s_held;
    private static volatile int s_turns;

    public static void Start(Stage stage)
    {
        s_stage = stage;
        var ways = new List<(string Name, Action Body)>(MirrorCases.All(stage.Number("depth", 500)));
        ways.AddRange(MirrorAsync.All());
        ways.AddRange(MirrorFaults.All());
        for (int i = 0; i < stage.Number("spin", 1); i++)
            ways.Add(($"spin-{i}", () => MirrorCases.Descend(30, "spin")));
        for (int i = 0; i < stage.Number("crowd", 0); i++)
        {
            int depth = i % 20;
            ways.Add(($"crowd-{i}", () => MirrorCases.Descend(depth, "crowd")));
        }
        foreach ((string name, Action body) in ways)
            new Thread(() => body(), 1 << 20) { Name = name, IsBackground = true }.Start();
        MirrorCases.StartElsewhere();
        AwaitAllHeld(ways.Count + MirrorCases.ElsewhereCount);
        stage.AtEnd(() => End(0)); // a runtime waits at its end for the finalizer, which is held
    }

    /// <summary>Where every way ends.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Hold(string what)
    {
        Publish(what, new StackTrace(0, what != "crowd"));
        switch (what == "spin" ? 9 : Interlocked.Increment(ref s_held) % 5)
        {
            case 0:
                Thread.Sleep(Timeout.Infinite);
                break;
            case 1:
                while (true)
                    Pause();
            case 2:
                lock (new object())
                    s_never.WaitOne();
                break;
            case 3:
                lock (s_gate)
                    Monitor.Wait(s_gate);
                break;
            case 9:
                while (!s_stage.IsStopping)
                    s_turns++;
                break;
            default:
                new TaskCompletionSource().Task.Wait();
                break;
        }
        return s_turns;
    }

    [DllImport("libc", EntryPoint = "pause")]
    private static extern int Pause();

    [DllImport("libc", EntryPoint = "_exit")]
    private static extern void End(int code);

    private static void Publish(string what, StackTrace trace)
    {
        int thread = ThreadClock.GetThreadId();
        string line = Describe(what, thread, trace);
        lock (s_said)
        {
            s_said.Add(thread, line);
            if (what == "spin")
                s_spinning.Add(thread);
        }
    }

    private static string Describe(string what, int thread, StackTrace trace)
    {
        using var bytes = new MemoryStream();
        using (var json = new Utf8JsonWriter(bytes))
        {
            json.WriteStartObject();
            json.WriteString("what", what);
            json.WriteNumber("thread", thread);
            json.WriteNumber("managed", Environment.CurrentManagedThreadId);
            json.WriteString("name", Thread.CurrentThread.Name);
            json.WriteBoolean("pool", Thread.CurrentThread.IsThreadPoolThread);
            json.WriteStartArray("frames");
            foreach (StackFrame frame in trace.GetFrames().SkipWhile(frame => frame.GetMethod()?.Name != nameof(Hold)))
                WriteFrame(json, frame);
            json.WriteEndArray();
            json.WriteEndObject();
        }
        return Encoding.UTF8.GetString(bytes.ToArray());
    }

    /// <summary>The runtime tells of generic code which definition it is of, not with which arguments it runs.</summary>
    private static void WriteFrame(Utf8JsonWriter json, StackFrame frame)
    {
        MethodBase? method = frame.GetMethod();
        Type? type = method?.DeclaringType;
        json.WriteStartObject();
        json.WriteString("type", type is { IsGenericType: true } ? type.GetGenericTypeDefinition().FullName : type?.FullName);
        json.WriteString("method", method?.Name);
        json.WriteNumber("token", method is null || type is null ? 0 : method.MetadataToken);
        json.WriteNumber("il", frame.GetILOffset());
        if (method is not null && IsExtern(method))
            json.WriteBoolean("extern", true);
        if (frame.GetFileLineNumber() > 0)
        {
            json.WriteString("file", frame.GetFileName());
            json.WriteNumber("line", frame.GetFileLineNumber());
        }
        json.WriteEndObject();
    }

    /// <summary>Native code called from here: a stack may show the stub between, once or twice, or nothing.</summary>
    private static bool IsExtern(MethodBase method) => method.Attributes.HasFlag(MethodAttributes.PinvokeImpl)
        || method.GetMethodImplementationFlags().HasFlag(MethodImplAttributes.InternalCall);

    private static void AwaitAllHeld(int count)
    {
        while (CountHeld() < count)
            Thread.Sleep(50);
        lock (s_said)
            foreach (string line in s_said.Values)
                Stage.Say(line);
    }

    /// <summary>Threads that have spoken and sleep since, or are to spin.</summary>
    private static int CountHeld()
    {
        KeyValuePair<int, string>[] said;
        lock (s_said)
            said = [.. s_said];
        return said.Count(pair => IsSpinning(pair.Key)
            || File.ReadAllText($"/proc/self/task/{pair.Key}/stat").Contains(") S "));
    }

    private static bool IsSpinning(int thread)
    {
        lock (s_said)
            return s_spinning.Contains(thread);
    }
}
