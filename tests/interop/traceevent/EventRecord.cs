// An event as TraceEvent holds it before any parser has interpreted it.
//
// TraceEvent keeps each event as a Windows EVENT_RECORD and shows only part of it: ids may be those of a
// parser's template, and the stack's addresses are for its own use. So we read the record.
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.InteropServices;
using Microsoft.Diagnostics.Tracing;

namespace Oracle;

internal readonly unsafe ref struct EventRecord
{
    private const ushort RelatedActivityItem = 1, Stack32Item = 5, Stack64Item = 6;
    private const int StackItemHeader = 8; // an unused match id

    [StructLayout(LayoutKind.Explicit, Size = 112)]
    private struct Record // EVENT_RECORD with its EVENT_HEADER and EVENT_DESCRIPTOR
    {
        [FieldOffset(8)] public uint ThreadId;
        [FieldOffset(12)] public uint ProcessId;
        [FieldOffset(16)] public long TimeStamp;
        [FieldOffset(24)] public Guid ProviderId;
        [FieldOffset(40)] public ushort Id;
        [FieldOffset(42)] public byte Version;
        [FieldOffset(64)] public fixed byte ActivityId[16];
        [FieldOffset(84)] public ushort ItemCount;
        [FieldOffset(86)] public ushort PayloadSize;
        [FieldOffset(88)] public Item* Items;
        [FieldOffset(96)] public byte* Payload;
    }

    [StructLayout(LayoutKind.Explicit, Size = 16)]
    private struct Item // EVENT_HEADER_EXTENDED_DATA_ITEM
    {
        [FieldOffset(2)] public ushort Type;
        [FieldOffset(6)] public ushort Size;
        [FieldOffset(8)] public byte* Data;
    }

    private static readonly Func<TraceEvent, nint> GetRecord = MakeGetter();

    private readonly Record* record;

    public EventRecord(TraceEvent data)
    {
        record = (Record*)GetRecord(data);
    }

    public uint ThreadId => record->ThreadId;
    public uint ProcessId => record->ProcessId;
    public long TimeStamp => record->TimeStamp;
    public Guid ProviderId => record->ProviderId;
    public ushort Id => record->Id;
    public byte Version => record->Version;
    public ReadOnlySpan<byte> ActivityId => new(record->ActivityId, 16);
    public ReadOnlySpan<byte> Payload => new(record->Payload, record->PayloadSize);

    public ReadOnlySpan<byte> RelatedActivityId =>
        Find(RelatedActivityItem, out Item item) ? new ReadOnlySpan<byte>(item.Data, 16) : new byte[16];

    /// <summary>The addresses of the stack, leaf first; none where TraceEvent drops the stack.</summary>
    public ulong[] Stack()
    {
        if (Find(Stack64Item, out Item item))
            return Addresses<ulong>(item).ToArray();
        if (Find(Stack32Item, out item))
            return Array.ConvertAll(Addresses<uint>(item).ToArray(), address => (ulong)address);
        return [];
    }

    private static ReadOnlySpan<T> Addresses<T>(Item item) where T : unmanaged =>
        new(item.Data + StackItemHeader, (item.Size - StackItemHeader) / sizeof(T));

    private bool Find(ushort type, out Item found)
    {
        for (int i = 0; i < record->ItemCount; i++)
        {
            found = record->Items[i];
            if (found.Type == type)
                return true;
        }
        found = default;
        return false;
    }

    private static Func<TraceEvent, nint> MakeGetter()
    {
        Type owner = typeof(TraceEvent);
        var getter = new DynamicMethod("GetRecord", typeof(nint), [owner], owner, skipVisibility: true);
        ILGenerator code = getter.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Ldfld, owner.GetField("eventRecord", BindingFlags.Instance | BindingFlags.NonPublic)!);
        code.Emit(OpCodes.Ret);
        return getter.CreateDelegate<Func<TraceEvent, nint>>();
    }
}
