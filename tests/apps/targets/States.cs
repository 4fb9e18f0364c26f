// A process in a bad state, with a hundred threads that wait in known places: state NAME [parked=100]
//
// calm, deadlock, cpu, pool, collect, compile, memory (DOTNET_GCHeapHardLimit must be set), hidden (the kernel lets nobody
// without rights look into it), crash (crash=N milliseconds after it is ready).
using System.Linq.Expressions;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Targets;

internal static class States
{
    private static readonly object s_first = new();
    private static readonly object s_second = new();
    private static readonly Barrier s_both = new(2);
    private static readonly ManualResetEventSlim s_never = new();
    private static readonly CountdownEvent s_held = new(1);
    private static readonly List<object> s_hoard = [];
    private static volatile int s_turns;
    private static int s_blocked;

    public static void Start(Stage stage)
    {
        int parked = stage.Number("parked", 100);
        for (int i = 0; i < parked; i++)
            BeginHeld($"parked-{i}", () => Descend(10));
        Action<Stage> enter = stage.Args[0] switch
        {
            "calm" => _ => { },
            "deadlock" => EnterDeadlock,
            "cpu" => BurnAll,
            "pool" => ExhaustPool,
            "collect" => CollectAlways,
            "compile" => CompileAlways,
            "memory" => FillMemory,
            "hidden" => _ => Control(4, 0, 0, 0, 0), // PR_SET_DUMPABLE
            "crash" => CrashSoon,
            _ => throw new ArgumentException(stage.Args[0]),
        };
        enter(stage);
        s_held.Signal();
        s_held.Wait();
    }

    /// <summary>One that says by s_held when it is where it will be.</summary>
    private static void BeginHeld(string name, Action body)
    {
        s_held.AddCount();
        Begin(name, body);
    }

    private static void Begin(string name, Action body)
        => new Thread(() => body(), 256 << 10) { Name = name, IsBackground = true }.Start();

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Descend(int depth) => depth == 0 ? Park() + 1 : Descend(depth - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Park()
    {
        s_held.Signal();
        Thread.Sleep(Timeout.Infinite);
        return s_turns;
    }

    private static void EnterDeadlock(Stage stage)
    {
        Begin("left", () => TakeBoth(s_first, s_second));
        Begin("right", () => TakeBoth(s_second, s_first));
        while (Monitor.LockContentionCount < 2)
            Thread.Sleep(10);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void TakeBoth(object one, object other)
    {
        lock (one)
        {
            s_both.SignalAndWait();
            lock (other)
                s_turns++;
        }
    }

    private static void BurnAll(Stage stage)
    {
        for (int i = 0; i < Environment.ProcessorCount + 1; i++)
            BeginHeld($"burn-{i}", () => Spin(stage));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Spin(Stage stage)
    {
        s_held.Signal();
        while (!stage.IsStopping)
            s_turns++;
    }

    /// <summary>Every worker blocks, and more work waits behind them.</summary>
    private static void ExhaustPool(Stage stage)
    {
        ThreadPool.SetMinThreads(20, 1);
        ThreadPool.SetMaxThreads(20, 1);
        for (int i = 0; i < 200; i++)
            ThreadPool.QueueUserWorkItem(_ => BlockWorker());
        while (Volatile.Read(ref s_blocked) < 20)
            Thread.Sleep(10);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void BlockWorker()
    {
        Interlocked.Increment(ref s_blocked);
        s_never.Wait();
    }

    private static void CollectAlways(Stage stage)
    {
        for (int i = 0; i < 1000; i++)
            s_hoard.Add(new object[1000]);
        BeginHeld("collect", () => Collect(stage));
        BeginHeld("allocate", () => Allocate(stage));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Collect(Stage stage)
    {
        s_held.Signal();
        while (!stage.IsStopping)
            GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Allocate(Stage stage)
    {
        s_held.Signal();
        while (!stage.IsStopping)
            s_hoard[s_turns++ & 511] = new object[1000];
    }

    private static void CompileAlways(Stage stage) => BeginHeld("compile", () => Compile(stage));

    /// <summary>Each expression is another method.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Compile(Stage stage)
    {
        s_held.Signal();
        for (int i = 0; !stage.IsStopping; i++)
        {
            var number = Expression.Parameter(typeof(int));
            Expression sum = number;
            for (int k = 0; k < 100; k++)
                sum = Expression.Add(sum, Expression.Constant(i + k));
            s_turns += Expression.Lambda<Func<int, int>>(sum, number).Compile()(1);
        }
    }

    /// <summary>Keeps all that it can get, and goes on asking for more.</summary>
    private static void FillMemory(Stage stage)
    {
        using var full = new ManualResetEventSlim();
        Begin("hoard", () => Hoard(stage, full));
        full.Wait();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Hoard(Stage stage, ManualResetEventSlim full)
    {
        for (int size = 1 << 20; !stage.IsStopping;)
        {
            try
            {
                s_hoard.Add(new byte[size]);
            }
            catch (OutOfMemoryException) when (size > 64 << 10)
            {
                size /= 2;
            }
            catch (OutOfMemoryException)
            {
                size = 1 << 20; // what is left is for the others: without any they would end the process
                full.Set();
                stage.Pause(1);
            }
        }
    }

    [DllImport("libc", EntryPoint = "prctl")]
    private static extern int Control(int option, nint second, nint third, nint fourth, nint fifth);

    private static void CrashSoon(Stage stage) => Begin("crash", () =>
    {
        stage.AwaitReady();
        Thread.Sleep(stage.Number("crash", 100));
        Fall(5);
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Fall(int depth) => depth == 0 ? throw new InvalidOperationException("the end") : Fall(depth - 1) + 1;
}
