// What something costs today: plain computing, remembered for a second.
using Shop.Catalog;
using Shop.Storage;

namespace Shop.Pricing;

internal sealed record Quote(int ProductId, int Quantity, decimal Each, decimal Total);

internal sealed class PriceEngine(Shelf shelf)
{
    private const int Scenarios = 400;

    private readonly TimedCache<(int, int), Quote> _quotes = new(4096, TimeSpan.FromSeconds(1));

    public Quote? GetQuote(int productId, int quantity)
    {
        if (shelf.Find(productId) is not { } product)
            return null;
        return _quotes.GetOrAdd((productId, quantity), _ => MakeQuote(product, quantity));
    }

    private static Quote MakeQuote(Product product, int quantity)
    {
        decimal each = product.Cost * (decimal)EstimateDemand(product) * DiscountFor(quantity) + Freight(product);
        each = Math.Round(each, 2);
        return new Quote(product.Id, quantity, each, each * quantity);
    }

    /// <summary>The mean of many made-up markets; the seed makes it the same each time.</summary>
    private static double EstimateDemand(Product product)
    {
        var random = new Random(product.Id);
        double sum = 0;
        for (int i = 0; i < Scenarios; i++)
            sum += SimulateMarket(random);
        return 1 + sum / Scenarios;
    }

    private static double SimulateMarket(Random random)
    {
        double level = 0.2;
        for (int day = 0; day < 14; day++)
            level = Math.Clamp(level + (random.NextDouble() - 0.5) * 0.05, 0.05, 0.6);
        return level;
    }

    private static decimal DiscountFor(int quantity) => quantity switch
    {
        >= 100 => 0.80m,
        >= 10 => 0.92m,
        _ => 1m,
    };

    private static decimal Freight(Product product) => 0.5m + product.Grams * 0.001m;
}
