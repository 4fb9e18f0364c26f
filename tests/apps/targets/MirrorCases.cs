// The ways of "mirror": each a kind of call that a stack may go through.
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Targets;

internal static unsafe class MirrorCases
{
    private static readonly ManualResetEventSlim s_dropped = new();
    private static int s_sink;

    public static (string, Action)[] All(int depth) =>
    [
        ("recursion", () => Descend(depth, "recursion")),
        ("generic-class", () => { new Case<int>().Put(1); }),
        ("generic-shared", () => { new Case<string>().Put("x"); }),
        ("generic-nested", () => { new Case<string>.Inner<long>().Open("x", 1); }),
        ("generic-static", () => Case<Guid>.Make<byte[]>()),
        ("generic-method", () => Pass(1, "x")),
        ("generic-value", () => Pass((1, 'x'), 2.0)),
        ("generic-list", () => Pass(new List<KeyValuePair<int, string[]>>(), new int[1, 1])),
        ("generic-virtual", () => { ((Shape)new Square()).Draw<string>("x"); }),
        ("generic-interface", () => { ((ITake<int>)new Taker()).Take(1); }),
        ("static-virtual", () => { Twice<Number>(); }),
        ("lambda", () => s_lambda(1)),
        ("closure", () => Close(3)),
        ("local-function", () => CallLocal(4)),
        ("delegates", CallDelegates),
        ("function-pointer", () => CallPointer(&HoldAt)),
        ("dynamic-method", () => EmitMethod()(1)),
        ("expression", () => CompileExpression()(1)),
        ("emitted-type", () => EmitType().Invoke(null, [1])),
        ("reflection", () => typeof(MirrorCases).GetMethod(nameof(Reflected), BindingFlags.NonPublic | BindingFlags.Static)!
            .Invoke(null, ["reflection"])),
        ("callback", CallBack),
        ("callback-pointer", CallBackByPointer),
        ("callback-twice", CallBackTwice),
        ("iterator", () => s_sink += Numbers().Sum()),
        ("linq", () => s_sink += Enumerable.Range(0, 3).Where(number => number == 2).Select(HoldAt).Count()),
        ("sort", () => Array.Sort([2, 1], (_, _) => Mirror.Hold("sort"))),
        ("virtual", () => { ((Shape)new Square()).Area(); }),
        ("interface", () => { ((IShow)new Square()).Show(); }),
        ("default-interface", () => { ((IShow)new Square()).ShowByDefault(); }),
        ("boxed-struct", () => { ((IShow)default(Point)).Show(); }),
        ("static-constructor", () => s_sink += Lazily.Value),
        ("static-constructor-generic", () => s_sink += LazilyOf<string>.Value),
        ("constructor", () => s_sink += new Built(3).Value),
        ("property", () => s_sink += new Built().Property),
        ("operator", () => s_sink += (new Built() + new Built()).Value),
        ("many-arguments", () => s_sink += Many(1, 2, 3, 4, 5, 6, 7, 8, 9.0, 10.0, "x", default)),
        ("large-frame", () => s_sink += LargeFrame(5)),
        ("stack-allocation", () => s_sink += Allocate(700)),
        ("hot", CallHot),
        ("loop", () => s_sink += Loop(400_000)),
        ("lazy", () => s_sink += new Lazy<int>(() => Mirror.Hold("lazy")).Value),
        ("lock", CallLocked),
        ("text", () => s_sink += string.Create(3, "text", static (_, what) => Mirror.Hold(what)).Length),
    ];

    public const int ElsewhereCount = 5;

    /// <summary>Ways that do not begin on a thread of ours: of the pool, of a timer, of the finalizer, of native code.</summary>
    public static void StartElsewhere()
    {
        ThreadPool.QueueUserWorkItem(_ => Descend(2, "pool"));
        MirrorAsync.StartOnPool();
        nint thread;
        _ = StartNative(&thread, 0, &RunNative, 0);
        Drop();
        while (!s_dropped.IsSet)
        {
            GC.Collect();
            Thread.Sleep(10);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Descend(int depth, string what) => depth == 0 ? Mirror.Hold(what) + 1 : Descend(depth - 1, what) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int HoldAt(int number) => Mirror.Hold("hold-at") + number;

    // --- generics ---

    private class Case<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Put(T value) => Put(value, 2) + 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Put<U>(T value, U other) => Mirror.Hold("put") + (value, other).GetHashCode();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Make<U>() where U : class => Mirror.Hold("make") + typeof(U).GetHashCode();

        public class Inner<U>
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public int Open(T key, U value) => Mirror.Hold("open") + (key, value).GetHashCode();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Pass<T, U>(T first, U second) => Mirror.Hold("pass") + (first, second).GetHashCode();

    private interface ITake<T>
    {
        int Take(T value);
    }

    private sealed class Taker : ITake<int>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        int ITake<int>.Take(int value) => Mirror.Hold("take") + value;
    }

    private interface INumber<T> where T : INumber<T>
    {
        static abstract int Read(string what);
    }

    private readonly struct Number : INumber<Number>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Read(string what) => Mirror.Hold(what) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Twice<T>() where T : INumber<T> => T.Read("static-virtual") * 2;

    // --- functions ---

    private static readonly Func<int, int> s_lambda = number => Mirror.Hold("lambda") + number;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Close(int number)
    {
        Func<int> closure = () => Mirror.Hold("closure") + number;
        return closure() + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int CallLocal(int number)
    {
        return Local(2) + 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        int Local(int depth) => depth == 0 ? Mirror.Hold("local-function") + number : Local(depth - 1) + Static(1);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Static(int given) => given + 1;
    }

    private static void CallDelegates()
    {
        Func<int, int> two = number => number + 1;
        two += HoldAt;
        s_sink += two(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void CallPointer(delegate*<int, int> function) => s_sink += function(1);

    // --- made at run time ---

    private static Func<int, int> EmitMethod()
    {
        var method = new DynamicMethod("MirrorDynamic", typeof(int), [typeof(int)], typeof(MirrorCases), true);
        EmitCall(method.GetILGenerator());
        return method.CreateDelegate<Func<int, int>>();
    }

    private static void EmitCall(ILGenerator code)
    {
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Call, typeof(MirrorPublic).GetMethod(nameof(MirrorPublic.HoldAt))!);
        code.Emit(OpCodes.Ldc_I4_1);
        code.Emit(OpCodes.Add);
        code.Emit(OpCodes.Ret);
    }

    private static Func<int, int> CompileExpression()
    {
        ParameterExpression number = Expression.Parameter(typeof(int));
        var call = Expression.Call(typeof(MirrorPublic).GetMethod(nameof(MirrorPublic.HoldAt))!, number);
        return Expression.Lambda<Func<int, int>>(Expression.Add(call, number), number).Compile();
    }

    private static MethodInfo EmitType()
    {
        AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("MirrorEmitted"), AssemblyBuilderAccess.RunAndCollect);
        TypeBuilder type = assembly.DefineDynamicModule("MirrorEmitted").DefineType("Emitted.Type", TypeAttributes.Public);
        EmitCall(type.DefineMethod("Run", MethodAttributes.Public | MethodAttributes.Static, typeof(int), [typeof(int)]).GetILGenerator());
        return type.CreateType().GetMethod("Run")!;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Reflected(string what) => Mirror.Hold(what) + 1;

    // --- native code between ---

    private delegate int Compare(int* left, int* right);

    [DllImport("libc", EntryPoint = "qsort")]
    private static extern void Sort(int* items, nint count, nint size, Compare compare);

    [DllImport("libc", EntryPoint = "qsort")]
    private static extern void SortBy(int* items, nint count, nint size, delegate* unmanaged<int*, int*, int> compare);

    [DllImport("libc", EntryPoint = "pthread_create")]
    private static extern int StartNative(nint* thread, nint attributes, delegate* unmanaged<nint, nint> start, nint argument);

    private static void CallBack()
    {
        int* items = stackalloc int[] { 2, 1 };
        Sort(items, 2, sizeof(int), (_, _) => Mirror.Hold("callback") + 1);
    }

    private static void CallBackByPointer()
    {
        int* items = stackalloc int[] { 2, 1 };
        SortBy(items, 2, sizeof(int), &CompareHeld);
    }

    private static void CallBackTwice()
    {
        int* items = stackalloc int[] { 2, 1 };
        Sort(items, 2, sizeof(int), (_, _) =>
        {
            CallBackByPointer();
            return 0;
        });
    }

    [UnmanagedCallersOnly]
    private static int CompareHeld(int* left, int* right) => Mirror.Hold("callback-pointer") + 1;

    [UnmanagedCallersOnly]
    private static nint RunNative(nint argument) => Descend(2, "native-thread");

    // --- dispatch ---

    private interface IShow
    {
        int Show();

        int ShowByDefault() => Mirror.Hold("default-interface") + 1;
    }

    private abstract class Shape
    {
        public abstract int Area();

        public virtual int Draw<T>(T with) => with!.GetHashCode();
    }

    private sealed class Square : Shape, IShow
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public override int Area() => Mirror.Hold("virtual") + 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public override int Draw<T>(T with) => Mirror.Hold("generic-virtual") + with!.GetHashCode();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Show() => Mirror.Hold("interface") + 1;
    }

    private struct Point : IShow
    {
        private int _x;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Show() => Mirror.Hold("boxed-struct") + _x++;
    }

    // --- members ---

    private static class Lazily
    {
        public static readonly int Value;

        static Lazily() => Value = Mirror.Hold("static-constructor") + 1;
    }

    private static class LazilyOf<T>
    {
        public static readonly int Value;

        static LazilyOf() => Value = Mirror.Hold("static-constructor-generic") + typeof(T).GetHashCode();
    }

    private sealed class Built
    {
        public Built()
        {
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public Built(int value) => Value = Mirror.Hold("constructor") + value;

        public int Value { get; }

        public int Property
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            get => Mirror.Hold("property") + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Built operator +(Built left, Built right) => new(Mirror.Hold("operator") + left.Value + right.Value);
    }

    private static IEnumerable<int> Numbers()
    {
        yield return 1;
        yield return Mirror.Hold("iterator");
    }

    // --- frames of every size ---

    private struct Large
    {
        public fixed long Words[600];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Many(int a, int b, int c, int d, int e, int f, int g, int h, double i, double j, string k, Large l)
        => Mirror.Hold("many-arguments") + a + b + c + d + e + f + g + h + (int)(i + j) + k.Length + (int)l.Words[0];

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int LargeFrame(int depth)
    {
        Large large = default;
        large.Words[depth] = depth;
        return (depth == 0 ? Mirror.Hold("large-frame") : LargeFrame(depth - 1)) + (int)large.Words[depth];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Allocate(int count)
    {
        Span<int> numbers = stackalloc int[count];
        numbers.Fill(count);
        return Mirror.Hold("stack-allocation") + numbers[count / 2];
    }

    /// <summary>Called until it has been compiled anew, better.</summary>
    private static void CallHot()
    {
        for (int i = 0; i < 200; i++)
        {
            s_sink += Hot(i, false);
            Thread.Sleep(i % 50 == 49 ? 60 : 0);
        }
        s_sink += Hot(1, true);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Hot(int number, bool hold) => HotInside(number * 3, hold) + number;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int HotInside(int number, bool hold) => (hold ? Mirror.Hold("hot") : number) + 1;

    /// <summary>Replaced while it runs.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Loop(int turns)
    {
        int sum = 0;
        for (int i = 0; i < turns; i++)
            sum += i == turns - 1 ? Mirror.Hold("loop") : i ^ sum;
        return sum;
    }

    private static void CallLocked()
    {
        lock (s_dropped)
            s_sink += Mirror.Hold("lock");
    }

    private sealed class Dropped
    {
        ~Dropped()
        {
            s_dropped.Set();
            Descend(2, "finalizer");
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Drop() => _ = new Dropped();
}

/// <summary>What code made at run time may call.</summary>
public static class MirrorPublic
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int HoldAt(int number) => Mirror.Hold("made-at-run-time") + number;
}
