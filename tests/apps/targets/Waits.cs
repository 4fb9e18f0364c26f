// A thread for each way to wait, so that a sampler shows what waiting looks like: waits
//
// Every way is a method of its own: the name on the stack says how the thread waits.
using System.Collections.Concurrent;
using System.Diagnostics;
using System.IO.Pipes;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;

namespace Targets;

internal static class Waits
{
    private static readonly ManualResetEvent s_never = new(false);
    private static readonly object s_gate = new();
    private static readonly object s_held = new();
    private static readonly ReaderWriterLockSlim s_readers = new();
    private static readonly Mutex s_mutex = new();
    private static readonly ConcurrentBag<Process> s_children = [];
    private static readonly ConcurrentBag<int> s_threads = [];

    private static readonly Action[] s_ways =
    [
        OnSleep, OnLongSleep, OnMonitorWait, OnMonitorEnter, OnEvent, OnAnyEvent, OnAllEvents, OnSignalAndWait, OnMutex,
        OnSemaphore, OnSemaphoreSlim, OnEventSlim, OnCountdown, OnBarrier, OnReaderLock, OnTask, OnAnyTask, OnCollection,
        OnJoin, OnAccept, OnReceive, OnPoll, OnSelect, OnUdp, OnPipe, OnNamedPipe, OnProcess, OnProcessOutput, OnDelay,
    ];

    public static void Start(Stage stage)
    {
        HoldLocks();
        foreach (Action way in s_ways)
            new Thread(() => Enter(way)) { Name = way.Method.Name, IsBackground = true }.Start();
        ThreadPool.QueueUserWorkItem(_ => { });
        AwaitAllAsleep();
        stage.AtEnd(() => Array.ForEach(s_children.ToArray(), child => child.Kill()));
    }

    private static void Enter(Action way)
    {
        s_threads.Add(ThreadClock.GetThreadId());
        way();
    }

    /// <summary>
    /// Until every thread sleeps where it is to sleep for good: on its way there it compiles, connects and spins, and with
    /// much else to do on the machine that takes seconds.
    /// </summary>
    private static void AwaitAllAsleep()
    {
        string before = "";
        while (true)
        {
            string now = string.Join('\n', s_threads.Select(DescribeSleep));
            bool isQuiet = s_threads.Count == s_ways.Length && s_children.Count == 2 && !now.Contains("awake");
            if (isQuiet && now == before)
                return;
            before = now;
            Thread.Sleep(200);
        }
    }

    /// <summary>How often a thread fell asleep so far, if it sleeps; the one that sleeps again and again is there at once.</summary>
    private static string DescribeSleep(int thread)
    {
        string status = File.ReadAllText($"/proc/self/task/{thread}/status");
        if (status.Contains("OnSleep"))
            return "";
        return status.Contains("State:\tS") ? status[status.IndexOf("voluntary_ctxt_switches")..] : "awake";
    }

    private static void HoldLocks()
    {
        using var held = new ManualResetEventSlim();
        new Thread(() =>
        {
            lock (s_held)
            {
                s_readers.EnterWriteLock();
                s_mutex.WaitOne();
                held.Set();
                s_never.WaitOne();
            }
        })
        { IsBackground = true }.Start();
        held.Wait();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void OnSleep()
    {
        while (true)
            Thread.Sleep(50);
    }

    private static void OnLongSleep() => Thread.Sleep(Timeout.Infinite);

    private static void OnMonitorWait()
    {
        lock (s_gate)
            Monitor.Wait(s_gate);
    }

    private static void OnMonitorEnter()
    {
        lock (s_held)
            s_never.Set();
    }

    private static void OnEvent() => s_never.WaitOne();

    private static void OnAnyEvent() => WaitHandle.WaitAny([s_never, new AutoResetEvent(false)]);

    private static void OnAllEvents() => WaitHandle.WaitAll([s_never, new AutoResetEvent(false)]);

    private static void OnSignalAndWait() => WaitHandle.SignalAndWait(new AutoResetEvent(false), s_never);

    private static void OnMutex() => s_mutex.WaitOne();

    private static void OnSemaphore() => new Semaphore(0, 1).WaitOne();

    private static void OnSemaphoreSlim() => new SemaphoreSlim(0).Wait();

    private static void OnEventSlim() => new ManualResetEventSlim(false).Wait();

    private static void OnCountdown() => new CountdownEvent(1).Wait();

    private static void OnBarrier() => new Barrier(2).SignalAndWait();

    private static void OnReaderLock() => s_readers.EnterReadLock();

    private static void OnTask() => new TaskCompletionSource().Task.Wait();

    private static void OnAnyTask() => Task.WaitAny(new TaskCompletionSource().Task, new TaskCompletionSource().Task);

    private static void OnCollection() => new BlockingCollection<int>().Take();

    private static void OnJoin()
    {
        var thread = new Thread(() => s_never.WaitOne()) { IsBackground = true };
        thread.Start();
        thread.Join();
    }

    private static TcpListener Listen()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        return listener;
    }

    private static Socket Connect(TcpListener listener)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        socket.Connect(listener.LocalEndpoint);
        return socket;
    }

    private static void OnAccept() => Listen().AcceptSocket();

    private static void OnReceive()
    {
        using TcpListener listener = Listen();
        Connect(listener).Receive(new byte[1]);
    }

    private static void OnPoll()
    {
        using TcpListener listener = Listen();
        Connect(listener).Poll(-1, SelectMode.SelectRead);
    }

    private static void OnSelect()
    {
        using TcpListener listener = Listen();
        Socket.Select(new List<Socket> { Connect(listener) }, null, null, -1);
    }

    private static void OnUdp()
    {
        IPEndPoint? from = null;
        new UdpClient(new IPEndPoint(IPAddress.Loopback, 0)).Receive(ref from);
    }

    private static void OnPipe()
    {
        using var server = new AnonymousPipeServerStream(PipeDirection.Out);
        using var client = new AnonymousPipeClientStream(PipeDirection.In, server.ClientSafePipeHandle);
        client.ReadByte();
    }

    private static void OnNamedPipe()
    {
        using var server = new NamedPipeServerStream($"sonde-waits-{Environment.ProcessId}");
        server.WaitForConnection();
    }

    private static Process StartSleeper()
    {
        Process child = Process.Start(new ProcessStartInfo("sleep", "60") { RedirectStandardOutput = true })!;
        s_children.Add(child);
        return child;
    }

    private static void OnProcess() => StartSleeper().WaitForExit();

    private static void OnProcessOutput() => StartSleeper().StandardOutput.ReadToEnd();

    private static void OnDelay() => Task.Delay(Timeout.Infinite).GetAwaiter().GetResult();
}
