// Work under every kind of name that compilers and the runtime invent: shapes
//
// One thread goes through all of them in turn and stays in each for some milliseconds, so that a sampler
// sees generics, async methods, iterators, lambdas, local functions, operators, accessors and dynamic code.
using System.Collections;
using System.Linq.Expressions;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Targets;

internal static class Shapes
{
    private static long s_sink;
    private static readonly Func<int, int> s_compiled = CompileExpression();
    private static readonly Func<int, int> s_emitted = EmitMethod();

    public static void Start(Stage stage)
    {
        stage.Spawn("shapes", () =>
        {
            while (!stage.IsStopping)
                GoThroughAll();
        });
        Jit.Start(stage); // code that comes and goes meanwhile
    }

    /// <summary>The leaf of every shape.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Work(int turns)
    {
        for (int i = 0; i < turns * 1000; i++)
            s_sink = s_sink * 31 + i;
        return (int)s_sink;
    }

    private static void GoThroughAll()
    {
        CallGenerics();
        CallAsync().GetAwaiter().GetResult();
        CallLambdas(7);
        CallMembers();
        s_sink += s_compiled(300) + s_emitted(300);
        Array.Sort(Enumerable.Range(0, 20).Reverse().ToArray(), (left, right) => left.CompareTo(right) + (Work(1) & 0));
    }

    private static void CallGenerics()
    {
        new Box<string>.Inner<int>().Open("key", 1);
        new Box<KeyValuePair<int, string[]>>.Inner<long[,]>().Open(default, new long[1, 1]);
        Swap(ref s_sink, [s_sink]);
        foreach (int number in Count<string>(2))
            s_sink += number;
        foreach (object? item in new Box<int>())
            s_sink += item is null ? 0 : 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Swap<T>(ref T place, T[] values)
    {
        Work(300);
        place = values[0];
    }

    private static IEnumerable<int> Count<T>(int most)
    {
        for (int i = 0; i < most; i++)
        {
            Work(200);
            yield return typeof(T).Name.Length;
        }
    }

    private static async Task CallAsync()
    {
        await Task.Yield();
        Work(200);
        await Fetch("text");
        await foreach (int number in Stream())
            s_sink += number;
        Func<Task> nested = async () =>
        {
            await Task.Yield();
            Work(200);
        };
        await nested();
        await Local(1);

        static async Task<int> Local(int number)
        {
            await Task.Yield();
            return Work(200) + number;
        }
    }

    private static async ValueTask<T> Fetch<T>(T value)
    {
        await Task.Yield();
        Work(200);
        return value;
    }

    private static async IAsyncEnumerable<int> Stream()
    {
        await Task.Yield();
        yield return Work(200);
    }

    private static void CallLambdas(int captured)
    {
        Func<int> plain = () => Work(200);
        Func<int> closure = () => Work(200) + captured;
        Func<Func<int>> nested = () => () => Work(200) + captured;
        s_sink += plain() + closure() + nested()() + Local(2) + Generic("x");

        int Local(int number) => number == 0 ? Work(200) + captured : Local(number - 1) + 1;
        static int Generic<T>(T value) => Work(200) + (value?.GetHashCode() ?? 0);
    }

    private static void CallMembers()
    {
        var shape = new Shape(1);
        s_sink += shape.Size + shape[2] + (shape + shape).Number + ((IMeasured)shape).Measure() + shape.Widen();
        shape.Size = 3;
        shape.Changed += _ => Work(100);
        s_sink += new Record(1, default).GetHashCode() + new { number = new Busy(), text = "" }.GetHashCode();
    }

    private static Func<int, int> CompileExpression()
    {
        ParameterExpression turns = Expression.Parameter(typeof(int), "turns");
        Expression call = Expression.Call(typeof(Shapes), nameof(Work), null, turns);
        return Expression.Lambda<Func<int, int>>(Expression.Add(call, turns), turns).Compile(); // no jump
    }

    private static Func<int, int> EmitMethod()
    {
        var method = new DynamicMethod("Emitted", typeof(int), [typeof(int)]);
        ILGenerator code = method.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Call, typeof(Shapes).GetMethod(nameof(Work))!);
        code.Emit(OpCodes.Ldc_I4_1);
        code.Emit(OpCodes.Add); // likewise
        code.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<int, int>>();
    }

    private static int Widen(this Shape shape) => Work(100) + shape.Number;

    private interface IMeasured
    {
        int Measure();
    }

    private sealed class Shape : IMeasured
    {
        private static readonly int s_first = Work(100);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public Shape(int number) => Number = number + (Work(100) & 0) + (s_first & 0);

        public int Number { get; }

        public int Size
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            get => Work(300);
            [MethodImpl(MethodImplOptions.NoInlining)]
            set => Work(100 + (value & 0));
        }

        public int this[int index] => Work(100) + index;

        public event Action<int> Changed
        {
            add { Work(100); value(1); }
            remove { }
        }

        public static Shape operator +(Shape left, Shape right) => new(Work(100) + left.Number + right.Number);

        int IMeasured.Measure() => Work(100) + 1;
    }

    private sealed record Record(int Number, Busy Text);

    private readonly struct Busy
    {
        public override int GetHashCode() => Work(100);
    }

    private sealed class Box<T> : IEnumerable
    {
        IEnumerator IEnumerable.GetEnumerator()
        {
            Work(100);
            yield return null;
        }

        public sealed class Inner<TValue>
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public void Open(T? key, TValue value) => Touch<T>(key, [value]);

            [MethodImpl(MethodImplOptions.NoInlining)]
            private static void Touch<TKey>(TKey? key, TValue[] values) =>
                s_sink += Work(200) + (key?.GetHashCode() ?? 0) + values.Length;
        }
    }
}
