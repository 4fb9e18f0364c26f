// What every behaviour stands on: its arguments, its threads, and the news that it is time to stop.
using System.Runtime.InteropServices;

namespace Targets;

internal sealed class Stage : IDisposable
{
    private readonly CancellationTokenSource _stop = new();
    private readonly List<Thread> _threads = [];
    private readonly List<Action> _endings = [];
    private readonly Dictionary<string, int> _numbers = [];
    private readonly PosixSignalRegistration _terminate;
    private readonly ManualResetEventSlim _ready = new();
    private int _exitCode;

    public Stage(string[] args)
    {
        Args = args;
        ReadNumbers(args);
        _terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, context =>
        {
            context.Cancel = true;
            _stop.Cancel();
        });
        WatchInput();
    }

    public string[] Args { get; }

    public bool IsStopping => _stop.IsCancellationRequested;

    /// <summary>Signalled when it is time to stop.</summary>
    public CancellationToken Stopping => _stop.Token;

    /// <summary>The number given as key=value, else the default.</summary>
    public int Number(string key, int otherwise) => _numbers.GetValueOrDefault(key, otherwise);

    /// <summary>Gives a key its value unless the command line has.</summary>
    public void SetDefault(string key, int value) => _numbers.TryAdd(key, value);

    /// <summary>Starts a thread that <see cref="RunToEnd"/> waits for; it must heed the stop.</summary>
    public void Spawn(string name, Action body)
    {
        var thread = new Thread(() => body()) { Name = name };
        lock (_threads)
            _threads.Add(thread);
        thread.Start();
    }

    /// <summary>Starts a thread that repeats a step, with a pause in between, until the stop.</summary>
    public void Repeat(string name, int pauseMilliseconds, Action<int> step) => Spawn(name, () =>
    {
        for (int round = 0; !IsStopping; round++)
        {
            step(round);
            Pause(pauseMilliseconds);
        }
    });

    /// <summary>Registers what is to be done after all threads have ended.</summary>
    public void AtEnd(Action ending) => _endings.Add(ending);

    /// <summary>Sleeps, but not beyond the stop.</summary>
    public void Pause(int milliseconds) => _stop.Token.WaitHandle.WaitOne(milliseconds);

    public void Stop(int exitCode)
    {
        _exitCode = exitCode;
        _stop.Cancel();
    }

    public void SayReady()
    {
        Say($"ready pid={Environment.ProcessId}");
        _ready.Set();
    }

    /// <summary>For threads that must do nothing before the ready line is out.</summary>
    public void AwaitReady() => _ready.Wait();

    /// <summary>Writes one line to stdout; the console flushes each write.</summary>
    public static void Say(string line) => Console.Out.Write(line + "\n");

    public int RunToEnd()
    {
        int seconds = Number("seconds", 0);
        _stop.Token.WaitHandle.WaitOne(seconds > 0 ? TimeSpan.FromSeconds(seconds) : Timeout.InfiniteTimeSpan);
        _stop.Cancel();
        foreach (Thread thread in _threads)
            thread.Join();
        _endings.ForEach(ending => ending());
        return _exitCode;
    }

    public void Dispose() => _terminate.Dispose();

    private void ReadNumbers(string[] args)
    {
        for (int i = 0; i < args.Length; i++)
        {
            string pair = args[i] == "--seconds" && i + 1 < args.Length ? $"seconds={args[++i]}" : args[i];
            int sign = pair.IndexOf('=');
            if (sign > 0 && int.TryParse(pair.AsSpan(sign + 1), out int value))
                _numbers[pair[..sign]] = value;
        }
    }

    /// <summary>
    /// Stops when stdin ends. A shell gives a program in the background /dev/null, which ends at once
    /// and means only that nobody is there: that one is not watched.
    /// </summary>
    private void WatchInput()
    {
        if (File.ResolveLinkTarget("/proc/self/fd/0", false)?.FullName is null or "/dev/null")
            return;
        var watcher = new Thread(() =>
        {
            using Stream input = Console.OpenStandardInput();
            byte[] waste = new byte[256];
            while (input.Read(waste) > 0)
                continue;
            _stop.Cancel();
        })
        { Name = "stdin", IsBackground = true };
        watcher.Start();
    }
}
