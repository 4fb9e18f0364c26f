// Events as fast as asked, numbered so that a reader can count what was lost:
// storm [rate=0] [size=32] [threads=2] [count=0]
//
// rate    events a second of all threads together; 0 is as fast as it goes
// size    bytes of the text with its terminator; the payload has 12 more
// count   write exactly so many once enabled, say "done sent=<n>", and wait; 0 is no limit
//
// Nothing is numbered or written while nobody listens. "sent=<n>" is the last line.
using System.Diagnostics;
using System.Diagnostics.Tracing;

namespace Targets;

[EventSource(Name = "Sonde-Storm")]
internal sealed unsafe class StormSource : EventSource
{
    public static readonly StormSource Log = new();

    [Event(1, Level = EventLevel.Informational)]
    public void Tick(int thread, long number, string text)
    {
        // WriteEvent has no overload for these types that would not allocate.
        fixed (char* chars = text)
        {
            EventData* data = stackalloc EventData[3];
            data[0] = new EventData { DataPointer = (nint)(&thread), Size = sizeof(int) };
            data[1] = new EventData { DataPointer = (nint)(&number), Size = sizeof(long) };
            data[2] = new EventData { DataPointer = (nint)chars, Size = (text.Length + 1) * sizeof(char) };
            WriteEventCore(1, 3, data);
        }
    }
}

internal static class Storm
{
    public static void Start(Stage stage)
    {
        int threads = Math.Max(1, stage.Number("threads", 2));
        int count = stage.Number("count", 0);
        var text = new string('x', Math.Max(0, stage.Number("size", 32) / 2 - 1));
        int busy = threads;
        long sent = 0;

        for (int i = 0; i < threads; i++)
        {
            // The first threads take what does not divide evenly.
            var writer = new Writer(stage, i + 1, text)
            {
                PerSecond = stage.Number("rate", 0) / (double)threads,
                Limit = count == 0 ? long.MaxValue : count / threads + (i < count % threads ? 1 : 0),
            };
            stage.Spawn($"storm-{i + 1}", () =>
            {
                writer.Run();
                Interlocked.Add(ref sent, writer.Sent);
                // Who comes last reads the sum: all the others have added to it by then.
                if (Interlocked.Decrement(ref busy) == 0 && count > 0 && Interlocked.Read(ref sent) == count)
                    Stage.Say($"done sent={count}");
            });
        }
        stage.AtEnd(() => Stage.Say($"sent={sent}"));
    }

    private sealed class Writer(Stage stage, int thread, string text)
    {
        public required double PerSecond { get; init; }
        public required long Limit { get; init; }
        public long Sent { get; private set; }

        public void Run()
        {
            while (!stage.IsStopping && Sent < Limit)
            {
                if (!StormSource.Log.IsEnabled())
                    stage.Pause(1);
                else if (PerSecond > 0)
                    WritePaced();
                else
                    WriteBatch(Math.Min(Limit, Sent + 1000));
            }
        }

        /// <summary>Each millisecond catches up with the clock, which starts anew with each listener.</summary>
        private void WritePaced()
        {
            long first = Sent;
            var clock = Stopwatch.StartNew();
            while (!stage.IsStopping && Sent < Limit && StormSource.Log.IsEnabled())
            {
                WriteBatch(Math.Min(Limit, first + (long)(clock.Elapsed.TotalSeconds * PerSecond)));
                Thread.Sleep(1);
            }
        }

        private void WriteBatch(long upTo)
        {
            while (Sent < upTo && StormSource.Log.IsEnabled())
                StormSource.Log.Tick(thread, ++Sent, text);
        }
    }
}
