// Locks that are held and awaited, and async methods that wait in every way there is; nothing of it ever goes on: pending
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Channels;

namespace Targets;

internal static class Pending
{
    /// <summary>What all of them wait for: it never comes.</summary>
    private static readonly TaskCompletionSource<int> s_never = new();
    private static readonly List<Task> s_tasks = []; // so that none of it is garbage
    private static readonly SemaphoreSlim s_seat = new(0);
    private static readonly Channel<int> s_channel = Channel.CreateUnbounded<int>();
    private static Task s_self = Task.CompletedTask;
    private static object? s_kept;
    private static TaskCompletionSource<int>[] s_ends = [];

    public static void Start(Stage stage)
    {
        PendingLocks.Start(stage.Number("threads", 1) != 0);
        for (int i = 0; i < stage.Number("times", 5); i++)
            s_tasks.Add(Plain());
        s_tasks.AddRange([Configured(), Value(), OfPool(), All(), Any(), Continued(), Unwrapped(), Seated(), Delayed(),
            Reading(), Patient(), Iterated(), Typed("text"), Either(true), Either(false)]);
        Task<int> shared = Shared();
        for (int i = 0; i < 7; i++)
            s_tasks.Add(Sharing(shared));
        Async();
        InContext();
        ReadyInContext();
        StartCircle();
        SpendPooled();
        Background("pending-blocked", () => Blocked().GetAwaiter().GetResult());
    }

    internal static Thread Background(string name, Action body)
    {
        var thread = new Thread(() => body()) { Name = name, IsBackground = true };
        thread.Start();
        return thread;
    }

    private static async Task Plain() => await PlainMiddle();
    private static async Task<int> PlainMiddle()
    {
        await Task.Yield();
        return await PlainInner() + 1;
    }
    private static async Task<int> PlainInner() => await s_never.Task;

    private static async Task Configured() => await ConfiguredInner().ConfigureAwait(false);
    private static async Task<int> ConfiguredInner() => await s_never.Task.ConfigureAwait(false);

    private static async Task Value() => await ValueInner();
    private static async ValueTask<int> ValueInner() => await s_never.Task;

    private static async Task OfPool() => await OfPoolInner();
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<int> OfPoolInner() => await s_never.Task;

    /// <summary>Boxes that have gone back to their pool look like new ones: none of them is to be found.</summary>
    private static void SpendPooled()
    {
        for (int i = 0; i < 3; i++)
            SpentInner(i).AsTask().Wait();
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<int> SpentInner(int number)
    {
        await Task.Yield();
        return number;
    }

    private static async Task All() => await Task.WhenAll(AllFirst(), AllSecond());
    private static async Task<int> AllFirst() => await s_never.Task;
    private static async Task<int> AllSecond() => await s_never.Task;

    private static async Task Any() => await Task.WhenAny(AnyFirst(), AnySecond(), AnyThird());
    private static async Task<int> AnyFirst() => await s_never.Task;
    private static async Task<int> AnySecond() => await s_never.Task;
    private static async Task<int> AnyThird() => await s_never.Task;

    private static async Task Continued() => await ContinuedInner().ContinueWith(done => done.Result);
    private static async Task<int> ContinuedInner() => await s_never.Task;

    private static async Task Unwrapped() => await Task.Run(UnwrappedInner);
    private static async Task<int> UnwrappedInner() => await s_never.Task;

    private static async Task<int> Shared() => await s_never.Task;
    private static async Task Sharing(Task<int> shared) => await shared;

    private static async Task Seated() => await s_seat.WaitAsync();

    private static async Task Delayed() => await Task.Delay(TimeSpan.FromHours(1));

    private static async Task Reading() => await s_channel.Reader.ReadAsync();

    private static async Task Patient() => await PatientInner().WaitAsync(TimeSpan.FromHours(1));
    private static async Task<int> PatientInner() => await s_never.Task;

    private static async Task Iterated()
    {
        await foreach (int number in Numbers())
            s_kept = number;
    }

    private static async IAsyncEnumerable<int> Numbers()
    {
        yield return 1;
        await Task.Yield();
        yield return await s_never.Task;
    }

    private static async Task<T> Typed<T>(T value)
    {
        await TypedInner(value);
        return value;
    }

    private static async Task<T> TypedInner<T>(T value)
    {
        await s_never.Task;
        return value;
    }

    private static async Task Either(bool isFirst)
    {
        if (isFirst)
            await s_never.Task;
        else
            await s_never.Task;
    }

    private static async void Async() => await AsyncInner();
    private static async Task<int> AsyncInner() => await s_never.Task;

    /// <summary>As in programs with a window: what goes on is posted.</summary>
    private static void InContext()
    {
        SynchronizationContext? before = SynchronizationContext.Current;
        SynchronizationContext.SetSynchronizationContext(new Posting());
        s_tasks.Add(Posted());
        SynchronizationContext.SetSynchronizationContext(before);
    }

    private static async Task Posted() => await PostedInner();
    private static async Task<int> PostedInner() => await s_never.Task;

    private sealed class Posting : SynchronizationContext;

    /// <summary>What they wait for is there, however it ended. Nobody lets them go on.</summary>
    private static void ReadyInContext()
    {
        TaskCompletionSource<int>[] ends = [new(), new(), new()];
        SynchronizationContext? before = SynchronizationContext.Current;
        SynchronizationContext.SetSynchronizationContext(new Keeping());
        s_tasks.AddRange([Succeeded(ends[0].Task), Failed(ends[1].Task), Cancelled(ends[2].Task)]);
        SynchronizationContext.SetSynchronizationContext(before);
        ends[0].SetResult(1);
        ends[1].SetException(new InvalidOperationException());
        ends[2].SetCanceled();
        s_ends = ends;
    }

    private static async Task Succeeded(Task<int> task) => await task;
    private static async Task Failed(Task<int> task) => await task;
    private static async Task Cancelled(Task<int> task) => await task;

    private sealed class Keeping : SynchronizationContext
    {
        private static readonly List<object?> s_posted = [];

        public override void Post(SendOrPostCallback callback, object? state) => s_posted.AddRange([callback, state]);
    }

    /// <summary>A task that awaits itself.</summary>
    private static void StartCircle()
    {
        var gate = new TaskCompletionSource();
        s_self = Circle(gate.Task);
        gate.SetResult();
    }

    private static async Task Circle(Task gate)
    {
        await gate;
        await CircleInner();
    }

    private static async Task CircleInner()
    {
        await Task.Yield();
        await s_self;
    }

    private static async Task<int> Blocked() => await BlockedInner();
    private static async Task<int> BlockedInner() => await s_never.Task;
}

/// <summary>Locks: a ring of three, a holder with two who wait, one who waits for a pulse, one that nobody waits for.</summary>
internal static class PendingLocks
{
    private static readonly object[] s_ring = [new(), new List<int>(), new Version()];
    private static readonly object s_held = new();
    private static readonly object s_bell = new();
    private static readonly object s_thin = new();
    private static readonly ManualResetEvent s_always = new(false);
    private static readonly List<object> s_free = []; // Locks that nobody holds: more than there is room for in a list of locks
    private const int Free = 70_000;

    public static void Start(bool isWanted)
    {
        if (!isWanted)
            return;
        StartRing();
        StartHolder();
        StartPulse();
        var isHeld = new ManualResetEventSlim();
        Pending.Background("thin-owner", () => HoldTwice(s_thin, isHeld));
        isHeld.Wait();
        StartLocks();
    }

    private static void StartRing()
    {
        var all = new Barrier(s_ring.Length);
        for (int i = 0; i < s_ring.Length; i++)
        {
            object first = s_ring[i], second = s_ring[(i + 1) % s_ring.Length];
            Pending.Background($"ring-{i}", () => TakeBoth(first, second, all));
        }
    }

    private static void TakeBoth(object first, object second, Barrier all)
    {
        lock (first)
        {
            all.SignalAndWait();
            lock (second)
                s_always.WaitOne();
        }
    }

    private static void StartHolder()
    {
        var isHeld = new ManualResetEventSlim();
        Pending.Background("held-owner", () => HoldTwice(s_held, isHeld));
        isHeld.Wait();
        for (int i = 0; i < 2; i++)
            Pending.Background($"held-waiter-{i}", () => Take(s_held));
    }

    private static void HoldTwice(object gate, ManualResetEventSlim isHeld)
    {
        lock (gate)
        lock (gate)
        {
            isHeld.Set();
            s_always.WaitOne();
        }
    }

    private static void Take(object gate)
    {
        lock (gate)
            s_always.WaitOne();
    }

    private static void StartPulse() => Pending.Background("pulse-waiter", () =>
    {
        lock (s_bell)
            Monitor.Wait(s_bell);
    });

    /// <summary>System.Threading.Lock is of .NET 9; this is built for 8.</summary>
    private static void StartLocks()
    {
        Type? type = typeof(object).Assembly.GetType("System.Threading.Lock");
        if (type is null)
            return;
        for (int i = 0; i < Free; i++)
            s_free.Add(Activator.CreateInstance(type)!);
        Action enter = Enter(type);
        Pending.Background("lock-alone", () => EnterAlone(enter));
        Action[] enters = [Enter(type), Enter(type)];
        var both = new Barrier(2);
        for (int i = 0; i < 2; i++)
        {
            Action first = enters[i], second = enters[1 - i];
            Pending.Background($"lock-{i}", () => EnterBoth(first, second, both));
        }
    }

    private static void EnterAlone(Action enter)
    {
        enter();
        s_always.WaitOne();
    }

    private static Action Enter(Type type)
    {
        object gate = Activator.CreateInstance(type)!;
        return type.GetMethod("Enter", BindingFlags.Public | BindingFlags.Instance)!.CreateDelegate<Action>(gate);
    }

    private static void EnterBoth(Action first, Action second, Barrier both)
    {
        first();
        both.SignalAndWait();
        second();
    }
}
