// Threads that wait for the static constructor of a type, which another thread runs: constructors WHAT
//
// lock: its thread waits for the lock of one that waits for the constructor, for ever. chain: the same with three threads and
// two constructors, one of a generic type. slow: the constructor will end some time. circle: two constructors need each other;
// the runtime lets one of their threads go on, and the other one waits for it. churn: two threads meet in short ones.
using System.Runtime.CompilerServices;

namespace Targets;

internal static class Constructors
{
    private static readonly object s_lock = new();
    private static readonly ManualResetEventSlim s_isHeld = new();
    private static readonly ManualResetEventSlim s_isInside = new();
    private static readonly ManualResetEventSlim s_isInner = new();
    private static readonly ManualResetEventSlim s_isDeep = new();
    private static readonly Barrier s_both = new(2);

    public static void Start(Stage stage)
    {
        switch (stage.Args[0])
        {
            case "lock":
                Begin("holder", () => HoldAndUse(() => Guarded.Value));
                Begin("builder", () => Guarded.Value);
                Begin("bystander", () => { s_isInside.Wait(); return Guarded.Value; });
                break;
            case "chain":
                Begin("holder", () => HoldAndUse(() => Outer<string>.Value));
                Begin("outer", () => Outer<string>.Value);
                Begin("inner", () => Inner.Value);
                break;
            case "slow":
                Begin("builder", () => Slow.Value);
                Begin("waiter", () => { s_isInside.Wait(); return Slow.Value; });
                break;
            case "circle":
                Begin("first", () => First.Value);
                Begin("second", () => Second.Value);
                break;
            case "churn":
                stage.Spawn("left", () => BuildAll(stage));
                stage.Spawn("right", () => BuildAll(stage));
                return;
            default:
                throw new ArgumentException(stage.Args[0]);
        }
        (stage.Args[0] == "circle" ? s_isDeep : s_isInside).Wait();
    }

    private static void Begin(string name, Func<int> body) => new Thread(() => body(), 256 << 10) { Name = name, IsBackground = true }.Start();

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int HoldAndUse(Func<int> use)
    {
        lock (s_lock)
        {
            s_isHeld.Set();
            s_isInside.Wait();
            return use();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Take()
    {
        s_isHeld.Wait();
        s_isInside.Set();
        lock (s_lock)
            return 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Sleep()
    {
        s_isInside.Set();
        Thread.Sleep(Timeout.Infinite);
        return 1;
    }

    /// <summary>Both are in their constructors; the one that is let through finds the other's value not set.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Meet(Func<int> other)
    {
        s_both.SignalAndWait();
        int value = other();
        s_isDeep.Set();
        Thread.Sleep(Timeout.Infinite);
        return value + 1;
    }

    /// <summary>Constructors of one type after the other, which the other thread comes to as well.</summary>
    private static void BuildAll(Stage stage)
    {
        Type[] all = [typeof(bool), typeof(byte), typeof(char), typeof(short), typeof(int), typeof(long), typeof(float), typeof(double),
            typeof(uint), typeof(ulong), typeof(ushort), typeof(sbyte), typeof(Guid), typeof(DateTime), typeof(TimeSpan), typeof(decimal)];
        for (int i = 0; i < all.Length * all.Length * all.Length && !stage.IsStopping; i++)
        {
            Type cell = typeof(Cell<,,>).MakeGenericType(all[i % all.Length], all[i / all.Length % all.Length], all[i / all.Length / all.Length]);
            s_both.SignalAndWait(1000);
            RuntimeHelpers.RunClassConstructor(cell.TypeHandle);
        }
    }

    private static class Cell<T1, T2, T3>
    {
        internal static readonly int Value;
        static Cell()
        {
            Thread.Sleep(2);
            Value = 1;
        }
    }

    private static class Guarded
    {
        internal static readonly int Value;
        static Guarded() => Value = Take();
    }

    private static class Outer<T>
    {
        internal static readonly int Value;
        static Outer()
        {
            s_isInner.Wait();
            s_isInside.Set();
            Value = Inner.Value + typeof(T).Name.Length;
        }
    }

    private static class Inner
    {
        internal static readonly int Value;
        static Inner()
        {
            s_isHeld.Wait();
            s_isInner.Set();
            lock (s_lock)
                Value = 1;
        }
    }

    private static class Slow
    {
        internal static readonly int Value;
        static Slow() => Value = Sleep();
    }

    private static class First
    {
        internal static readonly int Value;
        static First() => Value = Meet(() => Second.Value);
    }

    private static class Second
    {
        internal static readonly int Value;
        static Second() => Value = Meet(() => First.Value);
    }
}
