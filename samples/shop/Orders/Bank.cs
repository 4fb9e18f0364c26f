// Takes the money: a real HTTP call over the loopback, to our own /payments, which takes its time.
namespace Shop.Orders;

internal sealed record Payment(int OrderNumber, decimal Amount);

internal sealed class Bank : IDisposable
{
    private readonly HttpClient _client = new();

    /// <summary>Says where the bank is; known only once the server listens.</summary>
    public void Open(string address) => _client.BaseAddress = new Uri(address);

    public async Task Collect(Payment payment)
    {
        using HttpResponseMessage answer = await _client.PostAsJsonAsync("/payments", payment);
        answer.EnsureSuccessStatusCode();
    }

    public void Dispose() => _client.Dispose();
}
