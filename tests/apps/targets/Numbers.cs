// Numbered events from several threads, so that whoever counts them finds every one that is missing or comes twice:
// numbers [threads=4] [burst=50] [pause=5] [rounds=0: for ever] [listen=0]
//
// Each thread writes, in turn, Number(thread, n), Same() and Other(thread, n), n from 0 on, whether or not somebody listens.
// With listen=1 the program listens to itself as well and says at its end what it heard: "heard numbers=N sum=S same=M".
using System.Diagnostics.Tracing;

namespace Targets;

[EventSource(Name = "Sonde-Numbers")]
internal sealed class NumbersSource : EventSource
{
    public static readonly NumbersSource Log = new();

    public static class Keywords
    {
        public const EventKeywords Number = (EventKeywords)0x1;
        public const EventKeywords Same = (EventKeywords)0x2;
        public const EventKeywords Other = (EventKeywords)0x4;
        public const EventKeywords Never = (EventKeywords)0x8;
    }

    [Event(1, Keywords = Keywords.Number)]
    public void Number(int thread, int number) => WriteEvent(1, thread, number);

    [Event(2, Keywords = Keywords.Same)]
    public void Same() => WriteEvent(2);

    [Event(3, Keywords = Keywords.Other, Level = EventLevel.Verbose)]
    public void Other(int thread, int number) => WriteEvent(3, thread, number);
}

internal sealed class NumbersListener : EventListener
{
    private long _numbers;
    private long _sum;
    private long _same;

    public override string ToString() => $"numbers={_numbers} sum={_sum} same={_same}";

    protected override void OnEventSourceCreated(EventSource source)
    {
        if (source.Name == "Sonde-Numbers")
            EnableEvents(source, EventLevel.Informational, NumbersSource.Keywords.Number | NumbersSource.Keywords.Same);
    }

    protected override void OnEventWritten(EventWrittenEventArgs written)
    {
        if (written.EventId == 2)
            Interlocked.Increment(ref _same);
        if (written.EventId != 1)
            return;
        Interlocked.Increment(ref _numbers);
        Interlocked.Add(ref _sum, (int)written.Payload![1]!);
    }
}

internal static class Numbers
{
    public static void Start(Stage stage)
    {
        int rounds = stage.Number("rounds", 0);
        NumbersListener? listener = stage.Number("listen", 0) != 0 ? new NumbersListener() : null;
        _ = NumbersSource.Log;
        for (int i = 0; i < stage.Number("threads", 4); i++)
        {
            int thread = i;
            stage.Spawn($"numbers {i}", () => Write(stage, thread, rounds > 0 ? rounds : int.MaxValue));
        }
        if (listener is not null)
            stage.AtEnd(() => Stage.Say($"heard {listener}"));
    }

    private static void Write(Stage stage, int thread, int rounds)
    {
        int burst = stage.Number("burst", 50);
        int pause = stage.Number("pause", 5);
        stage.AwaitReady();
        for (int number = 0; number < rounds && !stage.IsStopping; number++)
        {
            NumbersSource.Log.Number(thread, number);
            NumbersSource.Log.Same();
            NumbersSource.Log.Other(thread, number);
            if (number % burst == burst - 1)
                stage.Pause(pause);
        }
        if (rounds != int.MaxValue)
            Stage.Say($"wrote {thread}");
    }
}
