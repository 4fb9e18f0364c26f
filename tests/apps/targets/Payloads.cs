// Values that are known to who reads them, in every way an EventSource can write them, twenty times a second
// while somebody listens: payloads
using System.Diagnostics;
using System.Diagnostics.Tracing;

namespace Targets;

internal enum ByteKind : byte { Zero, One, Most = 255 }
internal enum SByteKind : sbyte { Least = -128 }
internal enum ShortKind : short { Least = -32768 }
internal enum UShortKind : ushort { Most = 65535 }
internal enum IntKind { Least = int.MinValue }
internal enum UIntKind : uint { Most = uint.MaxValue }
internal enum LongKind : long { Least = long.MinValue }
internal enum ULongKind : ulong { Most = ulong.MaxValue }

internal static class Known
{
    public static readonly DateTime Moment = new(2024, 2, 29, 12, 34, 56, 789, DateTimeKind.Utc);
    public static readonly Guid Identity = new("00112233-4455-6677-8899-aabbccddeeff");
    public const string Surrogates = "clef \U0001D11E";
    public const string Lone = "lone \uD834 end";
    public const string Zero = "a\0b";
}

[EventData]
internal sealed class Leaf
{
    public bool Yes { get; set; } = true;
    public byte Small { get; set; } = 7;
    public string Text { get; set; } = "leaf";
}

[EventData]
internal sealed class Branch
{
    public int Number { get; set; } = 1;
    public Leaf Leaf { get; set; } = new();
}

/// <summary>With arrays inside: for these the runtime gives no layout.</summary>
[EventData]
internal sealed class Tree
{
    public int[] Numbers { get; set; } = [1, -2, 3];
    public Leaf[] Leaves { get; set; } = [new(), new() { Yes = false, Small = 8, Text = "" }];
}

/// <summary>As most write them: declared by a method, described to EventPipe by its parameters.</summary>
[EventSource(Name = "Sonde-Declared")]
internal sealed class DeclaredSource : EventSource
{
    public static readonly DeclaredSource Log = new();

    [Event(1)]
    public void Numbers(bool yes, bool no, sbyte i8, byte u8, short i16, ushort u16, int i32, uint u32, long i64, ulong u64) =>
        WriteEvent(1, yes, no, i8, u8, i16, u16, i32, u32, i64, u64);

    [Event(2)]
    public void Others(char letter, float single, double twice, Guid guid, DateTime when, nint pointer, string last) =>
        WriteEvent(2, letter, single, twice, guid, when, pointer, last);

    [Event(3)]
    public void Texts(string plain, string empty, string surrogates, string lone) => WriteEvent(3, plain, empty, surrogates, lone);

    [Event(4)]
    public void EmbeddedZero(int before, string zero) => WriteEvent(4, before, zero);

    [Event(5)]
    public void OneEnum(ByteKind kind, string after) => WriteEvent(5, kind, after);

    [Event(6)]
    public void AllEnums(SByteKind i8, ByteKind u8, ShortKind i16, UShortKind u16, IntKind i32, UIntKind u32, LongKind i64,
        ULongKind u64) => WriteEvent(6, i8, u8, i16, u16, i32, u32, i64, u64);

    [Event(7)]
    public void MixedEnums(byte before, ByteKind kind, byte between, string text, ShortKind small, short after) =>
        WriteEvent(7, before, kind, between, text, small, after);

    [Event(8)]
    public void Bytes(int before, byte[] bytes, int after) => WriteEvent(8, before, bytes, after);

    [Event(9)]
    public void Nothing() => WriteEvent(9);

    // Written by hand, as fast sources do: an enumeration as wide as it was declared.
    [Event(10)]
    public unsafe void NarrowEnum(ByteKind kind, int after)
    {
        EventData* data = stackalloc EventData[2];
        data[0] = new EventData { DataPointer = (nint)(&kind), Size = sizeof(ByteKind) };
        data[1] = new EventData { DataPointer = (nint)(&after), Size = sizeof(int) };
        WriteEventCore(10, 2, data);
    }
}

/// <summary>Declared by methods, but written as events that describe themselves.</summary>
[EventSource(Name = "Sonde-Described")]
internal sealed class DescribedSource() : EventSource(EventSourceSettings.EtwSelfDescribingEventFormat)
{
    public static readonly DescribedSource Log = new();

    [Event(1)]
    public void Scalars(bool yes, byte small, ByteKind kind, string text, DateTime when) => WriteEvent(1, yes, small, kind, text, when);

    [Event(2)]
    public void Array(int before, int[] numbers, string after) => WriteEvent(2, before, numbers, after);

    [Event(3)]
    public void Object(int before, Branch branch) => WriteEvent(3, before, branch);

    [Event(4)]
    public void Pairs(string name, IEnumerable<KeyValuePair<string, string>> arguments) => WriteEvent(4, name, arguments);
}

internal static class Payloads
{
    public static void Start(Stage stage)
    {
        DeclaredSource declared = DeclaredSource.Log;
        DescribedSource described = DescribedSource.Log;
        if ((declared.ConstructionException ?? described.ConstructionException) is { } broken)
            throw broken;
        var written = new EventSource("Sonde-Written");
        var listener = new DiagnosticListener("Sonde-Listener");
        stage.Repeat("payloads", 50, _ =>
        {
            if (declared.IsEnabled())
                WriteDeclared(declared);
            if (described.IsEnabled())
                WriteDescribed(described);
            if (written.IsEnabled())
                WriteOwn(written);
            if (listener.IsEnabled("Order"))
                listener.Write("Order", new { Id = 42, Customer = new { Name = "Größe" }, Empty = "" });
        });
        stage.AtEnd(listener.Dispose);
        stage.AtEnd(written.Dispose);
    }

    private static void WriteDeclared(DeclaredSource log)
    {
        log.Numbers(true, false, sbyte.MinValue, byte.MaxValue, short.MinValue, ushort.MaxValue, int.MinValue, uint.MaxValue,
            long.MinValue, ulong.MaxValue);
        log.Others('Ω', 1.5f, Math.PI, Known.Identity, Known.Moment, 0x1234, "last");
        log.Texts("plain", "", Known.Surrogates, Known.Lone);
        log.EmbeddedZero(1, Known.Zero);
        log.OneEnum(ByteKind.Most, "after");
        log.AllEnums(SByteKind.Least, ByteKind.Most, ShortKind.Least, UShortKind.Most, IntKind.Least, UIntKind.Most, LongKind.Least,
            ULongKind.Most);
        log.MixedEnums(1, ByteKind.One, 2, "text", ShortKind.Least, 3);
        log.Bytes(1, [0, 1, 254, 255], 2);
        log.Nothing();
        log.NarrowEnum(ByteKind.One, 5);
    }

    private static void WriteDescribed(DescribedSource log)
    {
        log.Scalars(true, 7, ByteKind.Most, "text", Known.Moment);
        log.Array(1, [1, -2, 3], "after");
        log.Object(1, new Branch());
        log.Pairs("name", [new("one", "1"), new("two", "")]);
    }

    private static void WriteOwn(EventSource log)
    {
        log.Write("Empty");
        log.Write("Scalars", new
        {
            yes = true, no = false, letter = 'Ω', i8 = sbyte.MinValue, u8 = byte.MaxValue, i16 = short.MinValue, u16 = ushort.MaxValue,
            i32 = int.MinValue, u32 = uint.MaxValue, i64 = long.MinValue, u64 = ulong.MaxValue, pointer = (nint)0x1234,
            single = 1.5f, twice = Math.PI, price = 12.5m, Known.Identity, Known.Moment, kind = ByteKind.Most, small = ShortKind.Least,
        });
        log.Write("Texts", new { plain = "plain", empty = "", none = (string?)null, Known.Surrogates, Known.Lone });
        log.Write("EmbeddedZero", new { before = 1, Known.Zero });
        log.Write("Times", new { offset = new DateTimeOffset(Known.Moment), span = TimeSpan.FromSeconds(1.5) });
        log.Write("Nested", new Branch());
        log.Write("Tree", new Tree());
        log.Write("Arrays", new
        {
            bools = new[] { true, false }, bytes = new byte[] { 0, 1, 255 }, letters = new[] { 'a', 'Ω' }, reals = new[] { 0.5, -1 },
            ids = new[] { Known.Identity }, none = Array.Empty<long>(), last = "end",
        });
        // No list of strings: the runtime refuses those.
        log.Write("Lists", new { kinds = new List<ByteKind> { ByteKind.Most }, last = 1 });
        log.Write("Pairs", new { map = new Dictionary<string, int> { ["one"] = 1, ["two"] = 2 }, last = 1 });
        log.Write("Optional", new { some = (int?)5, none = (int?)null, last = 1 });
    }
}
