// The ways of "mirror" through async methods: what runs before they wait, and what runs after.
using System.Runtime.CompilerServices;

namespace Targets;

internal static class MirrorAsync
{
    public static (string, Action)[] All() =>
    [
        ("async-first", () => First("async-first").GetAwaiter().GetResult()),
        ("async-resumed", ResumeHere),
        ("async-iterator", () => ReadStream().GetAwaiter().GetResult()),
        ("async-generic", () => FirstOf<int, string>("x").GetAwaiter().GetResult()),
    ];

    /// <summary>Two more, which begin on threads of the pool.</summary>
    public static void StartOnPool()
    {
        _ = Task.Run(() => First("task"));
        _ = ResumeOnPool();
    }

    private static async Task<int> First(string what)
    {
        int found = await Second(what);
        return found + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async ValueTask<int> Second(string what)
    {
        int found = Mirror.Hold(what);
        await Task.Yield();
        return found;
    }

    private static async Task<T?> FirstOf<T, U>(U given) where T : struct
    {
        int found = Mirror.Hold("async-generic");
        await Task.Yield();
        return given is null ? null : default(T);
    }

    /// <summary>Whoever ends what a method waits for goes on with it.</summary>
    private static void ResumeHere()
    {
        var gate = new TaskCompletionSource();
        Task waiting = AwaitAndHold(gate.Task, "async-resumed");
        gate.SetResult();
        waiting.Wait();
    }

    private static async Task AwaitAndHold(Task gate, string what)
    {
        await gate;
        Mirror.Hold(what);
    }

    private static async Task ResumeOnPool()
    {
        await Task.Yield();
        await AwaitAndHold(Task.CompletedTask, "resumed-on-pool");
    }

    private static async Task ReadStream()
    {
        await foreach (int number in Stream())
            _ = number;
    }

    private static async IAsyncEnumerable<int> Stream()
    {
        await Task.CompletedTask;
        yield return Mirror.Hold("async-iterator");
    }
}
