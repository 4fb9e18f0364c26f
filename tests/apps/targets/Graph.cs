// Work whose every possible call is known: graph [threads=2] [parked=0]
//
// A line of JSON before "ready" names the methods that a thread may begin with, the pairs of caller and callee that
// can follow each other on a stack when frames of others are left out, and how many threads there are. Then, five
// times a second, "work count=N cpu=N": steps done and nanoseconds of CPU that they took, over all threads.
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;

namespace Targets;

internal static class Graph
{
    private const string Self = "Targets.Graph";

    /// <summary>Caller and callees; types inside this one have a plus sign.</summary>
    private static readonly string[][] s_calls =
    [
        [".Run", ".Step"],
        [".Step", ".Grow", ".Sum", ".Sort", ".Print", ".Risk", ".Visit", ".Apply", ".Query"],
        [".Grow", ".Grow", ".MakeNode"],
        [".MakeNode", "+Node..ctor"],
        [".Sum", ".Sum"],
        [".Sort", ".Order"],
        [".Order", ".Weigh"],
        [".Print", ".Piece"],
        [".Risk", ".Fail"],
        [".Fail", ".Fail"],
        [".Visit", "+Cat.Speak", "+Dog.Speak"],
        ["+Cat.Speak", ".Echo"],
        ["+Dog.Speak", ".Echo"],
        [".Apply", ".Double"],
        [".Query", "+Bag`1..ctor", "+Bag`1.Count"],
        ["+Bag`1.Count", "+Bag`1.Measure"],
    ];

    private static readonly Animal[] s_animals = [new Cat(), new Dog()];
    private static readonly Func<int, int> s_double = Double;

    public static void Start(Stage stage)
    {
        int threads = stage.Number("threads", 2);
        long[] counts = new long[threads * 16]; // a line of the cache each
        long[] times = new long[threads * 16];
        for (int i = 0; i < threads; i++)
        {
            int mine = i * 16;
            stage.Spawn($"graph-{i}", () => Run(stage, ref counts[mine], ref times[mine]));
        }
        for (int i = 0; i < stage.Number("parked", 0); i++)
            stage.Spawn($"parked-{i}", () => stage.Stopping.WaitHandle.WaitOne());
        Publish(threads);
        stage.Repeat("teller", 200, _ => Stage.Say($"work count={counts.Sum()} cpu={times.Sum()}"));
    }

    private static void Publish(int threads)
    {
        using var bytes = new MemoryStream();
        using (var json = new Utf8JsonWriter(bytes))
        {
            json.WriteStartObject();
            json.WriteString("type", Self);
            json.WriteString("root", Self + ".Run");
            json.WriteNumber("threads", threads);
            json.WriteStartArray("pairs");
            foreach (string[] calls in s_calls)
                foreach (string callee in calls.Skip(1))
                {
                    json.WriteStartArray();
                    json.WriteStringValue(Self + calls[0]);
                    json.WriteStringValue(Self + callee);
                    json.WriteEndArray();
                }
            json.WriteEndArray();
            json.WriteEndObject();
        }
        Stage.Say(Encoding.UTF8.GetString(bytes.ToArray()));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Run(Stage stage, ref long count, ref long time)
    {
        for (int round = 0; !stage.IsStopping; round++)
        {
            Step(round);
            count++;
            if (round % 8 == 0)
                time = ThreadClock.Now;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Step(int round)
    {
        int sum = Sum(Grow(7)) + Sort(40, round) + Print(round) + Visit(round) + Apply(round) + Query(round);
        return sum + (round % 16 == 0 ? Risk(round) : 0);
    }

    private sealed class Node
    {
        public readonly Node? Left;
        public readonly Node? Right;
        public readonly byte[] Weight;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public Node(Node? left, Node? right)
        {
            Left = left;
            Right = right;
            Weight = new byte[40];
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Node Grow(int depth)
    {
        Node? left = depth > 0 ? Grow(depth - 1) : null;
        Node? right = depth > 0 ? Grow(depth - 1) : null;
        return MakeNode(left, right);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Node MakeNode(Node? left, Node? right)
    {
        var node = new Node(left, right);
        node.Weight[0] = 1;
        return node;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Sum(Node? node) => node is null ? 0 : Sum(node.Left) + Sum(node.Right) + node.Weight[0];

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Sort(int count, int seed)
    {
        int[] numbers = new int[count];
        for (int i = 0; i < count; i++)
            numbers[i] = (seed + i) * 7919 % 101;
        Array.Sort(numbers, Order);
        return numbers[0];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Order(int left, int right)
    {
        int difference = Weigh(left) - Weigh(right);
        return difference + 0 * s_animals.Length;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Weigh(int number) => number ^ 5;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Print(int round)
    {
        int length = Piece(round) + Piece("text") + Piece(round * 0.5);
        return length + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Piece<T>(T value) => $"{value}, again {value}".Length;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Risk(int round)
    {
        try
        {
            return Fail(round % 5 + 1);
        }
        catch (InvalidOperationException failure)
        {
            return failure.Message.Length;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Fail(int depth) => depth == 0 ? throw new InvalidOperationException("as planned") : Fail(depth - 1) + 1;

    private abstract class Animal
    {
        public abstract int Speak(int volume);
    }

    private sealed class Cat : Animal
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public override int Speak(int volume) => Echo(volume) + 1;
    }

    private sealed class Dog : Animal
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public override int Speak(int volume) => Echo(volume * 2) + 2;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Visit(int round)
    {
        int sum = 0;
        foreach (Animal animal in s_animals)
            sum += animal.Speak(round % 50);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Echo(int volume)
    {
        int sum = 0;
        for (int i = 0; i < volume; i++)
            sum = sum * 31 + i;
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Apply(int round)
    {
        int sum = 0;
        for (int i = 0; i < 20; i++)
            sum += s_double(round + i);
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Double(int number) => number * 2;

    private sealed class Bag<T>(T[] items)
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Count()
        {
            int sum = 0;
            foreach (T item in items)
                sum += Measure(item);
            return sum;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Measure(T item) => item!.GetHashCode() & 7;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Query(int round)
    {
        int sum = new Bag<string>(["one", "two", "three"]).Count() + new Bag<int>([1, 2, round]).Count();
        return sum + new Bag<KeyValuePair<int, long>>([new(round, 1)]).Count();
    }
}
