// Takes orders: checks stock under a lock, asks the price, collects the money, writes it down.
using Shop.Catalog;
using Shop.Pricing;
using Shop.Storage;

namespace Shop.Orders;

internal sealed record OrderRequest(int ProductId, int Quantity);

internal sealed record Order(int Number, int ProductId, int Quantity, decimal Total);

internal sealed class OrderRejected(string reason) : Exception(reason);

internal sealed class OrderDesk(PriceEngine prices, Bank bank, Archive archive, ILogger<OrderDesk> log)
{
    private const int MostOrdersKept = 10_000;
    private const int MostPerOrder = 200;

    private readonly object _gate = new();
    private readonly int[] _stock = Enumerable.Repeat(1_000, Shelf.Size + 1).ToArray();
    private readonly Dictionary<int, Order> _orders = [];
    private int _lastNumber;

    public async Task<Order> Place(OrderRequest request)
    {
        using IDisposable? scope =
            log.BeginScope("order of {Quantity} of product {ProductId}", request.Quantity, request.ProductId);
        Quote quote = prices.GetQuote(request.ProductId, request.Quantity)
            ?? throw new OrderRejected($"there is no product {request.ProductId}");
        int number = Reserve(request);
        log.LogDebug("order {Number}: collecting {Total}", number, quote.Total);
        await bank.Collect(new Payment(number, quote.Total));
        var order = new Order(number, request.ProductId, request.Quantity, quote.Total);
        Remember(order);
        await archive.Append(order.ToString());
        log.LogInformation("order {Number} placed for {Total}", number, quote.Total);
        return order;
    }

    public Order? Find(int number)
    {
        lock (_gate)
            return _orders.GetValueOrDefault(number);
    }

    private int Reserve(OrderRequest request)
    {
        if (request.Quantity is < 1 or > MostPerOrder)
            throw new OrderRejected($"{request.Quantity} is not a quantity we sell");
        lock (_gate)
        {
            // The supplier is quick: an empty shelf is full again for the next customer.
            if (_stock[request.ProductId] < request.Quantity)
            {
                _stock[request.ProductId] = 1_000;
                throw new OrderRejected("out of stock");
            }
            _stock[request.ProductId] -= request.Quantity;
            return ++_lastNumber;
        }
    }

    private void Remember(Order order)
    {
        lock (_gate)
        {
            _orders[order.Number] = order;
            _orders.Remove(order.Number - MostOrdersKept);
        }
    }
}
