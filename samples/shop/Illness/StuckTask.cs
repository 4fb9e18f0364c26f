// A chain of async calls whose last one waits for an answer that never comes.
namespace Shop.Illness;

internal sealed class StuckTask() : Disease("stuck-task", "an async call never completes")
{
    private TaskCompletionSource _answer = new();
    private Task _checkout = Task.CompletedTask;

    protected override void Begin()
    {
        _answer = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _checkout = CheckOut();
    }

    protected override void End()
    {
        _answer.SetResult();
        _checkout.Wait();
    }

    private async Task CheckOut()
    {
        await Task.Yield();
        await ReserveStock();
    }

    private async Task ReserveStock()
    {
        await Task.Delay(1);
        await AwaitSupplier();
    }

    private async Task AwaitSupplier() => await _answer.Task;
}
